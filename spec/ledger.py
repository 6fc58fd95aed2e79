"""Every sentence of a document that has a keyword: the rule that claims it, or why none does.

`python -m spec.ledger` rebuilds the committed ledgers, keeps what was written by hand (the reasons, and the
rules of other documents that claim a sentence), and lists the sentences that still need one. The file is
tied to its document by title, revision and SHA-256; a sentence by section, line, character offset and a hash
of its text with white space folded.

Of a document that is not among our files no sentence is copied. Its ledger can be rebuilt where its text is
at hand: in the folder that the environment variable AMQP_SPEC_DOCUMENTS names.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from spec.annotations import cited
from spec.catalogue import DOCUMENTS, Catalogue, Document, catalogue, index
from spec.readers.keywords import keywords, strongest
from spec.readers.xml import DocumentError
from spec.rules import Claim, Rule
from spec.statements import STATEMENTS, Statement, verified

TEXTS = "AMQP_SPEC_DOCUMENTS"

REASONS = (
    "licence",
    "duty of the application",
    "duty of the client",
    "description",
    "grammar",
    "no rule yet",
)
"""Why a sentence has no rule: in a word, before the sentence that argues it (`description: …`)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One sentence with a keyword: `sha256` is the start of its hash, `line` and `offset` count from 1 and 0.

    Exactly one of `claimed_by` (an identity) and `reason` is not empty once somebody has looked at it. Where
    rules name the sentences they rest upon, a sentence may have no keyword, and stands once for each rule.
    What a rule of another document already asks is claimed by that one, written by hand like a reason.
    """

    section: str
    line: int
    offset: int
    sha256: str
    keywords: tuple[str, ...]
    claimed_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sentences of one document, named as the reports name it."""

    document: Document
    entries: tuple[Entry, ...]

    def entries_of(self, identity: str) -> tuple[Entry, ...]:
        return tuple(each for each in self.entries if each.claimed_by == identity)


def build(
    document: Document,
    said: Iterable[Statement],
    reasons: Mapping[str, str],
    elsewhere: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Ledger:
    """Make the ledger of `document` out of its sentences; `reasons` has by `key` why one has no rule.

    `elsewhere` has, by `key`, the rules of other documents that claim it. Listed is each sentence with a
    keyword, and without one what is due, a rule claims or somebody has given a reason.
    """
    entries: list[Entry] = []
    met: set[int] = set()
    for each in said:
        found, name = keywords(each.text), key(each.section, each.sha256)
        owners = [each.rule] if each.rule else []
        # A sentence comes once for each rule of its own document; those of others claim it once.
        owners += () if each.offset in met else elsewhere.get(name, ())
        met.add(each.offset)
        reason = "" if owners else reasons.get(name, "")
        if found or owners or reason or each.due:
            place = (each.section, each.line, each.offset, each.sha256)
            entries += [Entry(*place, found, owner, reason) for owner in owners or [""]]
    return Ledger(document, tuple(entries))


def key(section: str, sha256: str) -> str:
    """Give the key by which a reason is kept while offsets move: section and hash of the words."""
    return f"{section} {sha256}"


def faults(ledger: Ledger, rules: Iterable[Rule]) -> tuple[str, ...]:
    """List what is wrong between `ledger` and `rules`, one sentence each; the document is not needed."""
    known = {rule.id: rule for rule in rules}
    own = {name: rule for name, rule in known.items() if rule.document == ledger.document.prefix}
    prefixes = {ledger.document.prefix} | {rule.document for rule in known.values()}
    claimed = {entry.claimed_by for entry in ledger.entries}
    wrong = []
    for entry in ledger.entries:
        where = f"The sentence {entry.sha256} in {entry.section} at character {entry.offset}"
        if entry.claimed_by and entry.claimed_by not in known:
            wrong.append(f"{where} is claimed by {entry.claimed_by}, which is no rule.")
        if bool(entry.claimed_by) == bool(entry.reason):
            wrong.append(f"{where} needs either a rule or a reason why it has none.")
        if entry.reason and not entry.reason.startswith(tuple(f"{each}: " for each in REASONS)):
            wrong.append(f"{where} has a reason that begins with none of: {', '.join(REASONS)}.")
        for identity in (name for prefix in prefixes for name in cited(entry.reason, prefix)):
            if identity not in known:
                wrong.append(f"{where} has a reason that refers to {identity}, which is no rule.")
    for rule in own.values():
        if rule.claims:
            wrong += _claim_faults(ledger, rule)
        elif strongest(rule.text) and not rule.source and rule.id not in claimed:
            wrong.append(f"The rule {rule.id} has a keyword and claims no sentence.")
    return tuple(wrong)


def _claim_faults(ledger: Ledger, rule: Rule) -> Iterator[str]:
    """Check a rule in our words: its sentences must be in the ledger, and its level be theirs."""
    name = f"The rule {rule.id}"
    entries = {Claim(each.section, each.line, each.sha256): each for each in ledger.entries_of(rule.id)}
    for claim in rule.claims:
        if claim not in entries:
            yield f"{name} claims {claim.sha256} on line {claim.line}; the ledger does not say so."
    for claim in entries:
        if claim not in rule.claims:
            yield f"{name} does not claim {claim.sha256} on line {claim.line}; the ledger says so."
    levels = {strongest(word) for entry in entries.values() for word in entry.keywords} - {None}
    # What a vendor tells its users mostly has no keyword; then there is none to depart from.
    if rule.level not in levels and not rule.reason and (levels or not rule.source):
        yield f"{name} needs a reason: no keyword of its sentences is of level {rule.level}."


def load(path: Path) -> Ledger:
    """Read the ledger committed at `path`. Raises DocumentError when the file is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = tuple(
            Entry(**{**each, "keywords": tuple(each["keywords"])}) for each in content["sentences"]
        )
        return Ledger(Document(**content["document"]), entries)
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise DocumentError(f"{path}: is no ledger: {failure}") from failure


def dump(ledger: Ledger) -> str:
    """Give the text of the committed file, one sentence per line so that changes can be read."""
    lines = ",\n".join("  " + json.dumps(asdict(entry), ensure_ascii=False) for entry in ledger.entries)
    head = json.dumps(asdict(ledger.document), ensure_ascii=False)
    return f'{{\n "document": {head},\n "sentences": [\n{lines}\n ]\n}}\n'


def texts() -> Path | None:
    """Give the folder with the documents that are not among our files, as AMQP_SPEC_DOCUMENTS names it."""
    named = os.environ.get(TEXTS)
    return Path(named) if named else None


def rebuild(folder: Path, rules: Catalogue, elsewhere: Path | None = None) -> Iterator[tuple[Path, Ledger]]:
    """Make each document's ledger anew from the document and the reasons in the committed file.

    A document that is not in `folder` is looked for in `elsewhere`, and left out where that is None. Raises
    DocumentError when it is not there, or is another revision than the one its rules were read from.
    """
    for document in rules.documents:
        entry = index(folder)[document.prefix]
        home = folder if (folder / document.file).exists() else elsewhere
        if home is None:
            continue
        committed = folder / entry["ledger"]
        kept = load(committed).entries if committed.exists() else ()
        reasons = {key(each.section, each.sha256): each.reason for each in kept if each.reason}
        own = [rule for rule in rules.rules if rule.document == document.prefix]
        path = verified(home / document.file, document.sha256)
        said = STATEMENTS[entry["reader"]](path, own)
        yield committed, build(document, said, reasons, _elsewhere(kept, document.prefix, rules))


def _elsewhere(kept: Iterable[Entry], prefix: str, rules: Catalogue) -> Mapping[str, Sequence[str]]:
    """Find, by `key`, the identities in the committed file that are of other documents than `prefix`."""
    prefixes = sorted((each.prefix for each in rules.documents), key=len, reverse=True)
    found: dict[str, dict[str, None]] = {}
    for each in kept:
        of = next((name for name in prefixes if each.claimed_by.startswith(f"{name}/")), prefix)
        if of != prefix:
            found.setdefault(key(each.section, each.sha256), {})[each.claimed_by] = None
    return {name: tuple(identities) for name, identities in found.items()}


def main() -> int:
    """Rebuild the committed ledgers; gives 1 when a sentence has neither a rule nor a reason, else 0.

    A ledger whose document is not at hand is left as it is, and checked against the rules all the same.
    """
    rules = catalogue()
    for path, ledger in rebuild(DOCUMENTS, rules, texts()):
        path.write_text(dump(ledger), encoding="utf-8")
    wrong: list[str] = []
    for entry in index(DOCUMENTS).values():
        path = DOCUMENTS / entry["ledger"]
        wrong += [f"{path.name}: {fault}" for fault in faults(load(path), rules.rules)]
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
