"""The rules of a document that is not copied: in our words, tied to its sentences by line and hash.

The file is XML in the shape of `documents/envelope.rng`, which is also what checks it. Its root names the
document that is judged: title, revision, the file name of its text and the SHA-256 of that text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lxml import etree

from spec.annotations import cited
from spec.readers.xml import DocumentError, parse, text_of
from spec.rules import Claim, Level, Party, Place, Role, Rule, Testability

SCHEMA = Path(__file__).parents[1] / "documents" / "envelope.rng"


@dataclass(frozen=True, slots=True)
class Envelope:
    """One document's rules and what the document is: `text` is the name of the file they were read from."""

    title: str
    revision: str
    text: str
    sha256: str
    rules: tuple[Rule, ...]


def envelope(path: Path, prefix: str) -> Envelope:
    """Read the rules in the file at `path`, in its order; `prefix` opens their identities.

    Raises DocumentError, with the line, when the file breaks its schema or is of another prefix, when two
    rules have the same identity, when a rule lacks the reason it needs or refers to a rule that is none.
    """
    root = shaped(path, SCHEMA)
    about = {str(name): str(value) for name, value in root.attrib.items()}
    if about["prefix"] != prefix:
        raise DocumentError(f"{path}:1: is of the prefix {about['prefix']}, not {prefix}")
    rules: dict[str, Rule] = {}
    for element in root.findall("rule"):
        rule = _rule(prefix, element)
        if rule.id in rules:
            raise DocumentError(f"{path}:{element.sourceline}: two rules are called {rule.id}")
        rules[rule.id] = rule
    for _, fault in faults(rules):
        raise DocumentError(f"{path}: {fault}")
    return Envelope(about["title"], about["revision"], about["text"], about["sha256"], tuple(rules.values()))


def shaped(path: Path, schema: Path) -> etree._Element:
    """Parse the file at `path` and return its root.

    Raises DocumentError, with the line, when it breaks the schema at `schema`.
    """
    root = parse(path)
    checked = _schema(schema)
    if not checked.validate(root):
        fault = checked.error_log[0]
        # What the root lacks has no line.
        raise DocumentError(f"{path}:{fault.line or root.sourceline}: {fault.message}")
    return root


@cache
def _schema(path: Path) -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(path))


def _rule(prefix: str, element: etree._Element) -> Rule:
    first = claim(element)
    place = Place((("section", first.section), ("rule", element.get("name", ""))), 0, first.line)
    return judged(prefix, first.section, element, place, (first, *map(claim, element.findall("also"))))


def judged(
    prefix: str,
    section: str,
    element: etree._Element,
    place: Place,
    claims: tuple[Claim, ...],
    source: str = "",
    versions: str = "",
    capability: str = "",
) -> Rule:
    """Read what any envelope says in a `<rule>` that has been checked; the rest is told by its kind."""
    said = {str(name): str(value) for name, value in element.attrib.items()}
    docs = {doc.get("type", ""): text_of(doc) for doc in element.findall("doc")}
    return Rule(
        id=f"{prefix}/{section}.{said['name']}",
        document=prefix,
        name=said["name"],
        section=section,
        place=place,
        text=docs[""],
        scenario=docs["scenario"],
        scenario_is_ours=True,
        on_failure=said.get("on-failure"),
        level=Level(said["level"]),
        binds=Party(said["binds"]),
        judged=Party(said["judged"]),
        testability=Testability(said["testability"]),
        reason=docs.get("reason", ""),
        reading=docs.get("reading", ""),
        claims=claims,
        related=tuple(said.get("see", "").split()),
        source=source,
        versions=versions,
        capability=capability,
        unseen_on_clients=docs.get("unseen-on-clients", ""),
        left_to=Party(said["left-to"]) if "left-to" in said else None,
    )


def claim(element: etree._Element) -> Claim:
    """Read which sentence an element names."""
    return Claim(element.get("section", ""), int(element.get("line", "0")), element.get("sha256", ""))


def faults(rules: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    """List what the schema cannot see: a rule's identity and what is wrong with it, one sentence each."""
    for rule in rules.values():
        cause = _needs_reason(rule)
        if cause and not rule.reason:
            yield rule.id, f"[{rule.id}] needs a reason, because {cause}."
        if rule.unseen_on_clients and not rule.concerns(Role.CLIENT):
            yield rule.id, f"[{rule.id}] says why clients do not show it, whom it does not bind."
        said = f"{rule.reason} {rule.reading} {rule.unseen_on_clients}"
        for identity in cited(said, rule.document):
            if identity not in rules:
                yield rule.id, f"[{rule.id}] refers to {identity}, which is no rule."
        if len(set(rule.claims)) != len(rule.claims):
            yield rule.id, f"[{rule.id}] claims the same sentence twice."
        if len({rule.id, *rule.related}) != len(rule.related) + 1:
            yield rule.id, f"[{rule.id}] sees a rule twice, or itself."


def _needs_reason(rule: Rule) -> str | None:
    """Say why a rule must be argued; that it has another level than its sentence, the ledger finds."""
    if rule.testability in (Testability.UNTESTABLE, Testability.CLIENT):
        return f"its testability is {str(rule.testability)!r}"
    # A sentence that binds the peer binds the server with it.
    if rule.judged != rule.binds and rule.binds != Party.PEER:
        return f"it binds the {rule.binds} but the {rule.judged} is judged"
    return None
