"""The script of a finding: what is to be played, as data that a person can read, and the player behind it."""

import pprint
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_BEGIN = '''#!/usr/bin/env python3
"""{about}

python3 {name} HOST PORT [--user USER] [--password PASSWORD] [--tls]{more}

Ends with 1 while the fault is there, 0 when it is gone, 2 where that cannot be told.
Needs Python 3.11 and nothing else. What it plays and looks for stands first, how it does that behind it.
"""

import argparse
import re
import secrets
import socket
import ssl
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

'''
_END = """

if __name__ == "__main__":
    sys.exit(main(GIVEN))
"""


def script(given: Mapping[str, Any], name: str) -> str:
    """Give the text of a script that plays what is `given` by an exchange; `name` is its file's."""
    more = "".join(f" [--{place} NAME]" for place in given["places"])
    more += " --other-user USER --other-password PASSWORD" if given["other"] else ""
    data = pprint.pformat(dict(given), width=118, sort_dicts=False, compact=True)
    # In a docstring nothing that a broker said may end it, or begin an escape.
    about = given["about"].replace("\\", "/").replace('"""', "'")
    parts = [f"GIVEN = {data}", _code("reading"), _code("player")]
    return _BEGIN.format(about=about, name=name, more=more) + "\n\n".join(parts) + _END


def _code(module: str) -> str:
    """Give what stands behind the imports of a module of this folder."""
    text = files("conformance.bug").joinpath(f"{module}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith(("import ", "from ")))
    return "\n".join(lines[last + 1 :]).strip() + "\n"
