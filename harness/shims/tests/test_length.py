"""A shim is believed by who has read it: none of its files is long, whatever its language."""

import importlib.resources
from pathlib import Path

LONGEST = 150
SUFFIXES = {".c", ".erl", ".go", ".h", ".java", ".js", ".php", ".py", ".rb", ".rs"}
CLIENTS = Path(str(importlib.resources.files("ci") / "clients"))


def test_no_file_of_a_shim_is_long() -> None:
    sources = [each for each in CLIENTS.glob("*/*") if each.suffix in SUFFIXES]
    shims = [each for each in sources if each.parent.name != "common"]
    lines = {str(each.relative_to(CLIENTS)): len(each.read_text().splitlines()) for each in shims}
    assert {each.parent.name for each in shims} >= {"pika", "proton-c", "qpid-jms", "lapin"}
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}
