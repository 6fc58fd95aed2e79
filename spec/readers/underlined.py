"""A plain text whose headings are underlined: its sections, numbered by their order, and its sentences.

The underlining tells the order of a heading: asterisks, equals signs, hyphens, full stops. The text gives its
sections no numbers, and some titles stand several times, so they are counted: the third section of the second
chapter is 2.3. What stands before the first heading is front matter.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from spec.readers.keywords import sentences
from spec.readers.pages import FRONT, Cut, Line

_ORDERS = "*=-."
_UNDERLINE = re.compile(r"([*=.-])\1{2,}")
# How much longer or shorter than its title an underlining may be.
_SLACK = 2
_ITEM = re.compile(r"(-|\d+\.) +\S")
_SET_IN = " " * 4


def cuts(text: str) -> Iterator[Cut]:
    """Cut `text` into its sentences, in order, with section, line and offset.

    A paragraph, an item of a list, what is said of a term are cut at their full stops. Of what is laid out by
    hand (grammar, tables of fields, dialogues), which is set in and stands under no term, each line is one.
    """
    lines = tuple(_lines(text))
    numbers = dict(_numbered(lines))
    section = FRONT
    for block in _blocks(lines):
        section = numbers.get(block[0].number, section)
        if block[0].number not in numbers:
            yield from _sentences(block, section)


def _lines(text: str) -> Iterator[Line]:
    offset = 0
    for number, each in enumerate(text.split("\n"), 1):
        yield Line(number, offset, each)
        offset += len(each) + 1


def _numbered(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """Find the headings: the number of the line of each, and that of its section."""
    counts: list[int] = []
    for line, below in pairwise(lines):
        if (order := _order(line.text.strip(), below.text.strip())) is not None:
            counts = [*counts[: order + 1], *[0] * (order + 1 - len(counts))]
            counts[order] += 1
            yield line.number, ".".join(map(str, counts))


def _order(title: str, below: str) -> int | None:
    found = _UNDERLINE.fullmatch(below)
    fits = bool(title) and not _UNDERLINE.fullmatch(title) and abs(len(title) - len(below)) <= _SLACK
    return _ORDERS.index(found[1]) if found and fits else None


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Put the lines together that belong together; a heading is a block, its underlining is none."""
    block: list[Line] = []
    by_hand = False
    for above, line in zip((Line(0, 0, ""), *lines), lines, strict=False):
        deep = line.text.startswith(_SET_IN)
        if block and (by_hand or _starts_anew(above, line)):
            yield block
            block = []
        if not deep or not above.text.startswith(_SET_IN):
            by_hand = deep and not above.text.endswith(":")
        if line.text.strip() and not _UNDERLINE.fullmatch(line.text.strip()):
            block.append(line)
    if block:
        yield block


def _starts_anew(above: Line, line: Line) -> bool:
    differs = line.text.startswith(_SET_IN) != above.text.startswith(_SET_IN)
    return differs or not above.text.strip() or not line.text.strip() or bool(_ITEM.match(line.text))


def _sentences(block: Sequence[Line], section: str) -> Iterator[Cut]:
    whole, begins = "", []
    for line in block:
        begins.append(len(whole))
        whole += f"{line.text}\n"
    for sentence in sentences(whole):
        line, begin = [pair for pair in zip(block, begins, strict=True) if pair[1] <= sentence.start][-1]
        yield Cut(section, line.number, line.offset + sentence.start - begin, sentence.text)
