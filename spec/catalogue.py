"""All rules of all documents, by identity and in document order."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from spec.annotations import annotate
from spec.provisions import provisions
from spec.rules import Rule
from spec.xml import DocumentError

DOCUMENTS = Path(__file__).parent / "documents"


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose rules are judged: `prefix` opens their identities, `sha256` is of its file."""

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
        """Every rule by its present identity."""
        return {rule.id: rule for rule in self.rules}

    def __getitem__(self, identity: str) -> Rule:
        """The rule called `identity` now or formerly. Raises UnknownRule."""
        try:
            return self.by_identity[self.aliases.get(identity, identity)]
        except KeyError:
            near = get_close_matches(identity, self.by_identity, n=3, cutoff=0.6)
            hint = f"; near are {', '.join(near)}" if near else ""
            raise UnknownRule(f"There is no rule {identity!r}{hint}.") from None


def _annotated(folder: Path, prefix: str, entry: Mapping[str, str]) -> tuple[Rule, ...]:
    if "annotations" not in entry:
        raise DocumentError(f"{folder / 'index.toml'}: [{prefix}] lacks the key 'annotations'.")
    return annotate(provisions(folder / entry["file"], prefix), folder / entry["annotations"])


# A document whose envelope differs enters with a reader here and its name in index.toml.
READERS: Mapping[str, Callable[[Path, str, Mapping[str, str]], tuple[Rule, ...]]] = {
    "amqp xml with annotations": _annotated,
}


@cache
def catalogue(folder: Path = DOCUMENTS) -> Catalogue:
    """Read every document that `folder`/index.toml names.

    Raises DocumentError or AnnotationError when a document, its annotations or the alias file is not
    in order.
    """
    documents: list[Document] = []
    rules: list[Rule] = []
    for prefix, entry in index(folder).items():
        documents.append(_document(folder, prefix, entry))
        rules += READERS[entry["reader"]](folder, prefix, entry)
    aliases = _aliases(folder / "aliases.toml", {rule.id for rule in rules})
    return Catalogue(tuple(documents), tuple(rules), aliases)


def index(folder: Path = DOCUMENTS) -> Mapping[str, Mapping[str, str]]:
    """The documents by prefix as `folder`/index.toml has them. Raises DocumentError."""
    path = folder / "index.toml"
    entries: dict[str, dict[str, str]] = _toml(path)
    for prefix, entry in entries.items():
        for key in ("title", "revision", "file", "reader", "identities", "ledger"):
            if key not in entry:
                raise DocumentError(f"{path}: [{prefix}] lacks the key {key!r}.")
        if entry["reader"] not in READERS:
            raise DocumentError(f"{path}: [{prefix}] has the unknown reader {entry['reader']!r}.")
    return entries


def identity_faults(catalogue: Catalogue, folder: Path = DOCUMENTS) -> tuple[str, ...]:
    """What is wrong between `catalogue` and the published identities, one sentence each.

    An identity, once published, stands in other people's baselines: it may go only by an alias.
    """
    wrong = []
    for prefix, entry in index(folder).items():
        path = folder / entry["identities"]
        published = path.read_text(encoding="utf-8").split()
        present = [rule.id for rule in catalogue.rules if rule.document == prefix]
        for identity in published:
            if catalogue.aliases.get(identity, identity) not in present:
                wrong.append(f"{identity} was published in {path.name} and has vanished without an alias.")
        for identity in present:
            if identity not in published:
                wrong.append(f"{identity} is not yet published in {path.name}.")
    return tuple(wrong)


def _document(folder: Path, prefix: str, entry: Mapping[str, str]) -> Document:
    path = folder / entry["file"]
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as failure:
        raise DocumentError(f"{path}: cannot be read ({failure})") from failure
    return Document(prefix, entry["title"], entry["revision"], entry["file"], digest)


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
