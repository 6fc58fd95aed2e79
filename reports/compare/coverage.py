"""What of each document is covered: its sentences by rules, its rules by checks; what is white and why."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scenarios.registry import Checks
from spec.catalogue import DOCUMENTS, Catalogue, Document, index
from spec.ledger import Entry, Ledger, load
from spec.rules import Role, Rule


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with a keyword: the rule that claims it, or the kind of `reason` and the reason itself."""

    entry: Entry
    kind: str
    reason: str

    @property
    def claimed(self) -> bool:
        return bool(self.entry.claimed_by)

    @property
    def white(self) -> bool:
        """True where nobody has claimed it or argued it away yet."""
        return not self.claimed and (not self.entry.reason or self.kind == "no rule yet")


@dataclass(frozen=True, slots=True)
class Covered:
    """A rule with its deviations, its checks of servers and `of_clients`.

    Without a check of servers `why` says what is missing.
    """

    rule: Rule
    checks: int
    of_clients: int
    deviations: int
    why: str

    @property
    def beyond(self) -> bool:
        """True where a run against a broker cannot judge it."""
        return bool(self.rule.beyond(Role.SERVER)) and not self.checks


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over sentences and rules.

    `bare` counts rules that a run could judge and no check does, `white` the sentences that nobody has
    claimed or argued away yet. `checked` have a check of servers, `of_clients` one of clients.
    """

    sentences: int
    claimed: int
    white: int
    rules: int
    checked: int
    of_clients: int
    beyond: int
    bare: int
    deviations: int


@dataclass(frozen=True, slots=True)
class Part:
    """One section of a document."""

    section: str
    sentences: tuple[Sentence, ...]
    rules: tuple[Covered, ...]

    @property
    def counts(self) -> Counts:
        return _counts(self.sentences, self.rules)


@dataclass(frozen=True, slots=True)
class Coverage:
    """One document, section by section, in the document's order."""

    document: Document
    parts: tuple[Part, ...]

    @property
    def counts(self) -> Counts:
        return _counts(self.sentences, self.rules)

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        return tuple(sentence for part in self.parts for sentence in part.sentences)

    @property
    def rules(self) -> tuple[Covered, ...]:
        return tuple(rule for part in self.parts for rule in part.rules)

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many sentences no rule claims, by kind of reason, the commonest first."""
        found = Counter(each.kind for each in self.sentences if not each.claimed)
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def ledgers(folder: Path = DOCUMENTS) -> tuple[Ledger, ...]:
    """Read the committed ledgers of the documents in `folder`. Raises DocumentError for one that is none."""
    return tuple(load(folder / entry["ledger"]) for entry in index(folder).values())


def coverage(books: Iterable[Ledger], catalogue: Catalogue, checks: Checks) -> tuple[Coverage, ...]:
    """Work out the coverage of each document that has a ledger."""
    return tuple(_coverage(book, catalogue.rules, checks) for book in books)


def _coverage(book: Ledger, rules: Sequence[Rule], checks: Checks) -> Coverage:
    own = [rule for rule in rules if rule.document == book.document.prefix]
    first = {entry.section: entry.offset for entry in reversed(book.entries)}
    for rule in own:
        first[rule.section] = min(first.get(rule.section, rule.place.offset), rule.place.offset)
    parts = [
        Part(
            section,
            tuple(_sentence(entry) for entry in book.entries if entry.section == section),
            tuple(_covered(rule, checks) for rule in own if rule.section == section),
        )
        for section in sorted(first, key=lambda each: (first[each], each))
    ]
    return Coverage(book.document, tuple(parts))


def _sentence(entry: Entry) -> Sentence:
    kind, _, reason = entry.reason.partition(": ")
    if not entry.claimed_by and not entry.reason:
        kind = "nobody has looked at it yet"
    return Sentence(entry, kind, reason)


def _covered(rule: Rule, checks: Checks) -> Covered:
    found = len(checks.of(rule.id, Role.SERVER))
    why = "" if found else rule.reason or "no check yet"
    of_clients = len(checks.of(rule.id, Role.CLIENT))
    return Covered(rule, found, of_clients, len(checks.deviations_of(rule.id)), why)


def _counts(sentences: Sequence[Sentence], rules: Sequence[Covered]) -> Counts:
    checked, beyond = sum(bool(each.checks) for each in rules), sum(each.beyond for each in rules)
    return Counts(
        sentences=len(sentences),
        claimed=sum(each.claimed for each in sentences),
        white=sum(each.white for each in sentences),
        rules=len(rules),
        checked=checked,
        of_clients=sum(bool(each.of_clients) for each in rules),
        beyond=beyond,
        bare=len(rules) - checked - beyond,
        deviations=sum(each.deviations for each in rules),
    )
