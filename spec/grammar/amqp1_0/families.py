"""The families of rules that the definitions of AMQP 1.0 Part 2 oblige to."""

from functools import cache
from pathlib import Path
from typing import Final

from spec.grammar.families import Families, read_families

FILE: Final = Path(__file__).parents[2] / "documents" / "amqp1-0-part2.grammar.toml"
BLANKS: Final = {
    "choices", "code", "composite", "default", "encodings", "field", "section", "symbol", "type", "presence",
}  # fmt: skip
"""The names that a sentence, or what to see, may leave open."""


@cache
def families(path: Path = FILE) -> Families:
    """Read the families in the TOML file at `path`. Raises DocumentError."""
    return read_families(path, BLANKS)
