"""Names of fields in tables, as 4.2.5.5 has them: one expression for who judges and who is judged."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 128
"""Characters of a name."""
_BEGINS = re.compile(r"[^\W\d_]|[$#]")
_GOES_ON = re.compile(r"(?:x-[\w$#-]*|.[\w$#]*)?", re.DOTALL)


def begins_well(name: str) -> bool:
    """Say whether a name begins with a letter, $ or #; the document does not say which letters it means."""
    return _BEGINS.match(name) is not None


def goes_on_well(name: str) -> bool:
    """Say whether all behind the first is letters, $, #, digits or underlines, in 128 characters in all.

    The hyphen is none of them, yet the document's own x-match has one, and it sets all names apart that begin
    with x- (3.1.3.4): in those it is legal, and nowhere else.
    """
    return len(name) <= LONGEST and _GOES_ON.fullmatch(name) is not None


def is_legal(name: str) -> bool:
    return begins_well(name) and goes_on_well(name)


def names(value: Any) -> Iterator[str]:
    """Yield every field name in a table, and in the tables and arrays inside it."""
    if isinstance(value, Mapping):
        yield from value
        for each in value.values():
            yield from names(each)
    elif isinstance(value, list):
        for each in value:
            yield from names(each)
