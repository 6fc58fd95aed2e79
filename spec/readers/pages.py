"""A text extracted from the pages of a PDF: its paragraphs, without what belongs to the pages.

The extraction has one paragraph or list per line, but between two pages it has their furniture: a footer
(title, page number, copyright) and a running header (the title of the chapter, now and then below a list
mark). A paragraph that goes on over the page is joined again. Headings stand on the line of their first
paragraph, several in a row where sections begin together; the table of contents tells where a title ends.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spec.readers.keywords import sentences

FRONT = "front"
"""The section of what stands before the first heading."""

_PAGE = re.compile(r"Page \d+ of \d+")
_LEADER = re.compile(r"\.{5,}")
_LISTED = re.compile(r"(\d+(?:\.\d+)*) (.+?)\.{5,}\d+")
# A heading that the contents do not list, because it is of the fourth order: how long it is nobody knows.
_DEEP = re.compile(r"(\d+(?:\.\d+){3,}) [A-Z]")
# The marks of lists came out as characters for private use, at the item or gathered before the list.
_MARK = re.compile(r"[\ue000-\uf8ff]")
_ENDED = re.compile(r"[.?!:][\"”')]*$")
# The first word of a sentence begins with one capital; so does a heading behind its number.
_GOES_ON = re.compile(r"[a-z]|[A-Z]{2}")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file: `number` counts from 1, `offset` (characters from the start) from 0."""

    number: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """One sentence, white space folded, and where it begins."""

    section: str
    line: int
    offset: int
    text: str


def cuts(text: str) -> Iterator[Cut]:
    """Cut `text` into its sentences, in order, with section, line and offset.

    What ends neither with a full stop nor at a blank line within its page is one sentence: an item of a
    list may be run together with its neighbours, because the extraction lost the marks.
    """
    lines = tuple(_lines(text))
    titles = _contents(lines)
    section = FRONT
    for paragraph in _paragraphs(lines, titles):
        section, skipped = _heading(paragraph[0].text, titles, section)
        yield from _sentences(paragraph, section, skipped)


def _lines(text: str) -> Iterator[Line]:
    offset = 0
    for number, each in enumerate(_MARK.sub(" ", text).split("\n"), 1):
        yield Line(number, offset, each)
        offset += len(each) + 1


def _contents(lines: Sequence[Line]) -> Mapping[str, str]:
    """Read the titles of the sections, by number, from the table of contents."""
    return {number: " ".join(title.split()) for line in lines for number, title in _LISTED.findall(line.text)}


def _paragraphs(lines: Sequence[Line], titles: Mapping[str, str]) -> Iterator[tuple[Line, ...]]:
    """Put the lines together that belong together: more than one where a page ends amid a sentence."""
    furniture = _furniture(lines, titles)
    gathered: list[Line] = []
    turned = False
    for line in lines:
        turned = turned or line.number in furniture
        if line.number in furniture or not line.text.strip():
            continue
        if gathered and not (turned and _amid(gathered[-1].text.strip(), line.text.strip())):
            yield tuple(gathered)
            gathered = []
        gathered.append(line)
        turned = False
    if gathered:
        yield tuple(gathered)


def _amid(above: str, below: str) -> bool:
    """Say whether a sentence goes on from the end of one page to the top of the next."""
    return _ENDED.search(above) is None and _GOES_ON.match(below) is not None


def _furniture(lines: Sequence[Line], titles: Mapping[str, str]) -> frozenset[int]:
    """Find the numbers of the lines that belong to the pages or to the table of contents."""
    chapters = {title for number, title in titles.items() if "." not in number}
    filled = [line for line in lines if line.text.strip()]
    found = set()
    for place, line in enumerate(filled):
        if _PAGE.fullmatch(line.text.strip()):
            found |= {each.number for each in filled[max(place - 1, 0) : place + 2]}
        if line.text.strip() in chapters or _LEADER.search(line.text):
            found.add(line.number)
    return frozenset(found)


def _heading(text: str, titles: Mapping[str, str], section: str) -> tuple[str, int]:
    """Find the section that a paragraph belongs to, and how many characters of headings it begins with."""
    start = 0
    while (number := re.match(r"\d+(?:\.\d+)* ", text[start:])) is not None:
        said = f"{number[0]}{titles.get(number[0].strip())}"
        if not text[start:].startswith(said):
            break
        section, start = number[0].strip(), start + len(said)
        start += len(text[start:]) - len(text[start:].lstrip())
    deep = _DEEP.match(text)
    return (deep[1], 0) if deep else (section, start)


def _sentences(paragraph: Sequence[Line], section: str, skipped: int) -> Iterator[Cut]:
    whole, begins = "", []
    for line in paragraph:
        begins.append(len(whole))
        whole += f"{line.text} "
    for sentence in sentences(whole[skipped:]):
        start = skipped + sentence.start
        line, begin = [pair for pair in zip(paragraph, begins, strict=True) if pair[1] <= start][-1]
        yield Cut(section, line.number, line.offset + start - begin, sentence.text)
