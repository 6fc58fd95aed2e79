"""What is wrong with a catalogue as a whole: identities that vanished, names of no rule."""

from __future__ import annotations

from pathlib import Path

from spec.catalogue import DOCUMENTS, Catalogue, index


def identity_faults(catalogue: Catalogue, folder: Path = DOCUMENTS) -> tuple[str, ...]:
    """List what is wrong between `catalogue` and the published identities, one sentence each.

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


def relation_faults(catalogue: Catalogue) -> tuple[str, ...]:
    """List what is wrong with how rules name one another, in and across documents, one sentence each."""
    wrong = []
    for rule in catalogue.rules:
        for identity in catalogue.named_by(rule):
            if catalogue.aliases.get(identity, identity) not in catalogue.by_identity:
                wrong.append(f"{rule.id} refers to {identity}, which is no rule.")
    return tuple(wrong)
