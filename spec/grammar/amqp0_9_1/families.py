"""The families of rules that the grammar of AMQP 0-9-1 obliges to."""

from functools import cache
from pathlib import Path
from typing import Final

from spec.grammar.families import Families, read_families

FILE: Final = Path(__file__).parents[2] / "documents" / "amqp0-9-1.grammar.toml"
BLANKS: Final = {
    "check", "class", "closes", "code", "constant", "constraint", "decides", "described", "duty", "field",
    "method", "responses", "tag", "trial", "type", "types",
}  # fmt: skip
"""The names that a sentence may leave open."""


@cache
def families(path: Path = FILE) -> Families:
    """Read the families in the TOML file at `path`. Raises DocumentError."""
    return read_families(path, BLANKS)
