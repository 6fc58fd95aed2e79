"""All rules of all documents, by identity and in document order."""

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from spec.annotations import annotate, cited
from spec.grammar.amqp0_9_1 import rules as grammar0_9_1
from spec.grammar.amqp1_0 import rules as grammar1_0
from spec.grammar.derived import Derived
from spec.one_fault import faults, with_faults
from spec.readers.envelope import envelope
from spec.readers.guides import guides
from spec.readers.provisions import provisions
from spec.readers.xml import DocumentError
from spec.rules import Rule

DOCUMENTS = Path(__file__).parent / "documents"


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose rules are judged: `prefix` opens their identities.

    `file` and `sha256` are of the document itself, whether or not it is among our files.
    """

    prefix: str
    title: str
    revision: str
    file: str
    sha256: str


class UnknownRule(KeyError):
    """No rule has this identity; the message is one sentence with the nearest identities."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Catalogue:
    """Every rule and every document; `aliases` lead from retired identities to living ones."""

    documents: tuple[Document, ...]
    rules: tuple[Rule, ...]
    aliases: Mapping[str, str]

    @cached_property
    def by_identity(self) -> Mapping[str, Rule]:
        return {rule.id: rule for rule in self.rules}

    def __getitem__(self, identity: str) -> Rule:
        """Find the rule called `identity` now or formerly. Raises UnknownRule when there is none."""
        try:
            return self.by_identity[self._living(identity)]
        except KeyError:
            near = get_close_matches(identity, self.by_identity, n=3, cutoff=0.6)
            hint = f"; near are {', '.join(near)}" if near else ""
            raise UnknownRule(f"There is no rule {identity!r}{hint}.") from None

    def related(self, rule: Rule) -> tuple[Rule, ...]:
        """Find the rules about the same thing, in catalogue order: named by `rule`, or naming it.

        A rule names those under `related`, and those its reading or its reason refers to.
        """
        return self._relations.get(rule.id, ())

    @cached_property
    def _relations(self) -> Mapping[str, tuple[Rule, ...]]:
        """For each identity the rules it is related to, in both directions."""
        found: dict[str, set[str]] = {}
        for rule in self.rules:
            for name in map(self._living, self.named_by(rule)):
                if name != rule.id:
                    found.setdefault(rule.id, set()).add(name)
                    found.setdefault(name, set()).add(rule.id)
        in_order: dict[str, list[Rule]] = {identity: [] for identity in found}
        for rule in self.rules:
            for identity in found.get(rule.id, ()):
                in_order[identity].append(rule)
        return {identity: tuple(rules) for identity, rules in in_order.items()}

    def named_by(self, rule: Rule) -> tuple[str, ...]:
        """Collect the identities `rule` names: under `related`, in what argues it, as broken with it."""
        said = f"{rule.reason} {rule.reading} {rule.unseen_on_clients}"
        told = [name for document in self.documents for name in cited(said, document.prefix)]
        broken = [name for fault in rule.faults for name in fault.rules if name != rule.id]
        return tuple(dict.fromkeys((*rule.related, *told, *broken)))

    def _living(self, identity: str) -> str:
        return self.aliases.get(identity, identity)


Reader = Callable[[Path, str, Mapping[str, Any]], tuple[Document, tuple[Rule, ...]]]
"""Reads a document, given the folder, its prefix and its entry in index.toml."""


def _annotated(folder: Path, prefix: str, entry: Mapping[str, Any]) -> tuple[Document, tuple[Rule, ...]]:
    _demand(folder, prefix, entry, ("title", "revision", "annotations"))
    path = folder / entry["file"]
    rules = annotate(provisions(path, prefix), folder / entry["annotations"])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Document(prefix, entry["title"], entry["revision"], entry["file"], digest), rules


def _enveloped(folder: Path, prefix: str, entry: Mapping[str, Any]) -> tuple[Document, tuple[Rule, ...]]:
    read = envelope(folder / entry["file"], prefix)
    return Document(prefix, read.title, read.revision, read.text, read.sha256), read.rules


def _guided(folder: Path, prefix: str, entry: Mapping[str, Any]) -> tuple[Document, tuple[Rule, ...]]:
    _demand(folder, prefix, entry, ("title", "revision", "text", "sha256", "product", "guides"))
    if not _are_names(entry["guides"]):
        raise DocumentError(f"{folder / 'index.toml'}: [{prefix}] has no list of names under 'guides'.")
    rules = guides([folder / each for each in entry["guides"]], prefix)
    return Document(prefix, entry["title"], entry["revision"], entry["text"], entry["sha256"]), rules


def _derived_by(derive: Callable[[Path, str], Iterable[Derived[Any]]]) -> Reader:
    def read(folder: Path, prefix: str, entry: Mapping[str, Any]) -> tuple[Document, tuple[Rule, ...]]:
        _demand(folder, prefix, entry, ("title", "revision"))
        path = folder / entry["file"]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        document = Document(prefix, entry["title"], entry["revision"], entry["file"], digest)
        return document, tuple(each.rule for each in derive(path, prefix))

    return read


# A document whose envelope differs enters with a reader here and its name in index.toml; how its sentences
# are read for the ledger stands in spec/statements.py under the same name.
READERS: Mapping[str, Reader] = {
    "amqp xml with annotations": _annotated,
    "envelope": _enveloped,
    "envelope of pages": _enveloped,
    "envelope of sections": _enveloped,
    "amqp grammar": _derived_by(grammar0_9_1.derived),
    "definitions": _derived_by(grammar1_0.derived),
    "methods and guides": _guided,
}


@cache
def catalogue(folder: Path = DOCUMENTS) -> Catalogue:
    """Read every document that `folder`/index.toml names.

    Raises DocumentError or AnnotationError when a document, its annotations, the alias file or the one of
    common faults is not in order.
    """
    documents: list[Document] = []
    rules: list[Rule] = []
    for prefix, entry in index(folder).items():
        document, found = READERS[entry["reader"]](folder, prefix, entry)
        documents.append(document)
        rules += found
    identities = {rule.id: None for rule in rules}
    aliases = _aliases(folder / "aliases.toml", set(identities))
    common = faults(folder / "one-fault.toml", identities)
    return Catalogue(tuple(documents), with_faults(rules, common), aliases)


def index(folder: Path = DOCUMENTS) -> Mapping[str, Mapping[str, Any]]:
    """Read which documents `folder`/index.toml names, by prefix. Raises DocumentError."""
    path = folder / "index.toml"
    entries: dict[str, dict[str, Any]] = _toml(path)
    for prefix, entry in entries.items():
        _demand(folder, prefix, entry, ("file", "reader", "identities", "ledger"))
        if entry["reader"] not in READERS:
            raise DocumentError(f"{path}: [{prefix}] has the unknown reader {entry['reader']!r}.")
        if "protocol" in entry or "capabilities" in entry:
            _demand(folder, prefix, entry, ("protocol", "capabilities"))
            if entry["protocol"] not in entries:
                raise DocumentError(
                    f"{path}: [{prefix}] adds to {entry['protocol']!r}, which is no document."
                )
            if not _are_names(entry["capabilities"]):
                raise DocumentError(f"{path}: [{prefix}] has no list of names under 'capabilities'.")
    return entries


def _are_names(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


def _demand(folder: Path, prefix: str, entry: Mapping[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        if key not in entry:
            raise DocumentError(f"{folder / 'index.toml'}: [{prefix}] lacks the key {key!r}.")


def _aliases(path: Path, living: set[str]) -> Mapping[str, str]:
    aliases: dict[str, str] = _toml(path)
    for old, new in aliases.items():
        if old in living:
            raise DocumentError(f"{path}: {old} is the identity of a living rule and cannot be an alias.")
        if new not in living:
            raise DocumentError(f"{path}: {old} leads to {new}, which is no rule.")
    return aliases


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as failure:
        raise DocumentError(f"{path}: cannot be read: {failure}") from failure
