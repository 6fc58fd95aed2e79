"""The guides of a vendor: rules in our words, one file for each guide, all of them one document.

Each file is XML in the shape of `documents/guide.rng`. What a guide says in prose stands in a section of its
own; one without follows the definition of the protocol, and its sections are classes, methods and fields. A
rule is tied to a sentence where the text is at hand, and else told by its source alone.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from lxml import etree

from spec.readers.envelope import claim, faults, judged, shaped
from spec.readers.xml import DocumentError
from spec.rules import Claim, Place, Rule
from spec.versions import versions

SCHEMA = Path(__file__).parents[1] / "documents" / "guide.rng"
KINDS = ("class", "method", "field")


def guides(paths: Iterable[Path], prefix: str) -> tuple[Rule, ...]:
    """Read the rules in the files at `paths`, in their order; `prefix` opens their identities.

    Raises DocumentError, with the line, when a file breaks its schema, a rule is in no section or is said of
    versions that are no range, when two rules of whatever files have the same identity, when one lacks the
    reason it needs or refers to a rule that is in none of the files.
    """
    rules: dict[str, Rule] = {}
    places: dict[str, str] = {}
    for path in paths:
        root = shaped(path, SCHEMA)
        for element in root.findall("rule"):
            where = f"{path}:{element.sourceline}"
            rule = _rule(where, prefix, root, element)
            if rule.id in rules:
                raise DocumentError(f"{where}: two rules are called {rule.id} (first: {places[rule.id]})")
            rules[rule.id], places[rule.id] = rule, where
    for identity, fault in faults(rules):
        raise DocumentError(f"{places[identity]}: {fault}")
    return tuple(rules.values())


def _rule(where: str, prefix: str, root: etree._Element, element: etree._Element) -> Rule:
    about = {str(name): str(value) for name, value in root.attrib.items()}
    said = {str(name): str(value) for name, value in element.attrib.items()}
    section = said.get("section", about.get("section", ""))
    if not section:
        raise DocumentError(f"{where}: {said['name']} has no section, and its guide has none either")
    return judged(
        prefix,
        section,
        element,
        Place((*_path(about, section), ("rule", said["name"])), 0, int(said.get("line", "0"))),
        _claims(section, said, element),
        " ".join(said.get("source", f"{about['title']} ({about['at']}), {about['revision']}").split()),
        _range(where, said),
    )


def _path(about: Mapping[str, str], section: str) -> tuple[tuple[str, str], ...]:
    if "section" in about:
        return (("section", section),)
    return tuple(zip(KINDS, section.split(".", len(KINDS) - 1), strict=False))


def _claims(section: str, said: Mapping[str, str], element: etree._Element) -> tuple[Claim, ...]:
    if "line" not in said:
        return ()
    first = Claim(section, int(said["line"]), said["sha256"])
    return (first, *map(claim, element.findall("also")))


def _range(where: str, said: Mapping[str, str]) -> str:
    found = said.get("versions", "")
    try:
        return found and str(versions(found)) and found
    except ValueError:
        raise DocumentError(f'{where}: versions {found!r} is not a range like ">=3.10,<3.11"') from None
