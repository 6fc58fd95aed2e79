"""What a document itself says in a rule, before anybody has judged it, and where it says it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from spec.readers.xml import DocumentError, parse, text_of
from spec.rules import Place

CONTAINERS = ("domain", "class", "method", "field")


@dataclass(frozen=True, slots=True)
class Provision:
    """One `<rule>` element: `scenario` is None where the document has none or only TODO."""

    id: str
    document: str
    name: str
    section: str
    place: Place
    text: str
    scenario: str | None
    on_failure: str | None


@dataclass(frozen=True, slots=True)
class Element:
    """A stretch of the file: the start tag begins at `start`, the content is `inner`:`end` (characters)."""

    start: int
    inner: int
    end: int


def provisions(path: Path, prefix: str) -> tuple[Provision, ...]:
    """Read every `<rule>` of the AMQP 0-9-1 XML at `path`, in document order.

    `prefix` opens each identity ("0-9-1"). Raises DocumentError when the file is no such document, a
    rule has no name or no text, or two rules have the same identity.
    """
    root = parse(path)
    source = path.read_text(encoding="utf-8")
    found = tuple(
        _provision(path, prefix, element, stretch.start)
        for element, stretch in zip(root.iter("rule"), elements(source, "rule"), strict=True)
    )
    seen: set[str] = set()
    for each in found:
        if each.id in seen:
            raise DocumentError(f"{path}:1: two rules are called {each.id} (second: {each.place})")
        seen.add(each.id)
    return found


def elements(source: str, tag: str) -> Iterator[Element]:
    """Find where the elements `tag` stand in the well-formed text `source`, in document order.

    Comments do not count. Elements of the same name inside one another are not provided for.
    """
    bare = re.sub(r"<!--.*?-->", lambda comment: " " * len(comment[0]), source, flags=re.DOTALL)
    for opening in re.finditer(rf"<{tag}(?=[\s/>])[^>]*>", bare):
        empty = opening[0].endswith("/>")
        end = opening.end() if empty else bare.index(f"</{tag}", opening.end())
        yield Element(opening.start(), opening.end(), end)


def path_of(element: etree._Element) -> tuple[tuple[str, str], ...]:
    """List the named elements from the root down to and including `element`, as (element, name)."""
    line = [element, *element.iterancestors()]
    return tuple((str(each.tag), each.get("name", "")) for each in reversed(line) if each.get("name"))


def beginnings(path: Path, tags: Iterable[str]) -> Mapping[tuple[tuple[str, str], ...], int]:
    """Find where every element of these `tags` begins, in characters from the start of the XML at `path`."""
    root, source = parse(path), path.read_text(encoding="utf-8")
    return {
        path_of(element): stretch.start
        for tag in tags
        for element, stretch in zip(root.iter(tag), elements(source, tag), strict=True)
    }


def section_of(path: tuple[tuple[str, str], ...]) -> str:
    """Name the section a place belongs to: `queue`, `queue.declare`, `domain.delivery-tag`, `constant.…`."""
    names = [hyphened(name) for kind, name in path if kind in ("class", "method")]
    return ".".join(names) if names else ".".join(map(hyphened, path[0])) if path else "amqp"


def hyphened(name: str) -> str:
    """Write a name as identities use it: some rules of the tx class have spaces in theirs."""
    return "-".join(name.split())


def _provision(path: Path, prefix: str, element: etree._Element, offset: int) -> Provision:
    place = Place(path_of(element), offset)
    if place.path[-1:] == () or place.path[-1][0] != "rule":
        raise DocumentError(f"{path}:{element.sourceline}: a <rule> lacks the attribute 'name' ({place})")
    kinds = [kind for kind, _ in place.path[:-1]]
    if not kinds or not set(kinds) <= set(CONTAINERS):
        raise DocumentError(f"{path}:{element.sourceline}: a <rule> has no business here ({place})")
    docs = element.findall("doc")
    text = " ".join(text_of(doc) for doc in docs if doc.get("type") is None)
    if not text:
        raise DocumentError(f"{path}:{element.sourceline}: a <rule> without text ({place})")
    scenario = " ".join(text_of(doc) for doc in docs if doc.get("type") == "scenario")
    names = [hyphened(name) for _, name in place.path]
    return Provision(
        id=f"{prefix}/{'.'.join(names if kinds[0] == 'class' else [kinds[0], *names])}",
        document=prefix,
        name=place.path[-1][1],
        section=section_of(place.path),
        place=place,
        text=text,
        scenario=None if scenario.rstrip(".") in ("", "TODO") else scenario,
        on_failure=element.get("on-failure"),
    )
