"""The text of a web page that describes a protocol method by method: its sentences and where they stand.

The page has headings on lines of their own: a class (`exchange`), a method (`bind(`, `bind-ok()`), a
parameter (`exchange-name destination`: domain and name). A link to its top runs into the heading behind it,
and what a paragraph names as its error code into the next paragraph.
"""

import re
from collections.abc import Iterator

from spec.readers.keywords import sentences
from spec.readers.pages import FRONT, Cut

_CLASSES = "Classes"
# What is no part of a sentence. A code's name is in lower case, and what runs into it begins with a capital.
_NOISE = re.compile(r"^\(back to top\)|Error code: [a-z\-]+")
_CLASS = re.compile(r"([a-z]+)")
_METHOD = re.compile(r"([a-z\-]+)\(\)?")
_PARAMETER = re.compile(r"[a-z\-]+ ([a-z0-9\-]+)")


def reference(text: str) -> Iterator[Cut]:
    """Cut `text` into its sentences, in order; a section is a class, a method, or a parameter of one."""
    section, offset, said = FRONT, 0, False
    for number, line in enumerate(text.split("\n"), 1):
        pieces = tuple(_pieces(line))
        whole = " ".join(piece for _, piece in pieces).strip()
        heading = _heading(whole, section) if said else section
        for start, piece in pieces if heading == section else ():
            for each in sentences(piece):
                yield Cut(section, number, offset + start + each.start, each.text)
        said = said or whole == _CLASSES
        section, offset = heading, offset + len(line) + 1


def _pieces(line: str) -> Iterator[tuple[int, str]]:
    """Find what the noise has left of a line, and where; no sentence goes on behind it."""
    start = 0
    for each in _NOISE.finditer(line):
        yield start, line[start : each.start()]
        start = each.end()
    yield start, line[start:]


def _heading(line: str, section: str) -> str:
    """Find the section that begins on a line; where none does, `section` goes on."""
    if found := _CLASS.fullmatch(line):
        return found[1]
    family, _, inside = section.partition(".")
    if found := _METHOD.fullmatch(line):
        return f"{family}.{found[1]}"
    found = _PARAMETER.fullmatch(line)
    return f"{family}.{inside.partition('.')[0]}.{found[1]}" if found and inside else section
