"""Documents about what only some products promise: how each is known to apply, and to which protocol it adds.

Without that their rules are not about a target, and count against nobody. All this is data of index.toml.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spec.catalogue import DOCUMENTS, index
from spec.readers.amqp0_9_1 import Grammar, extended
from spec.rules import Rule


@dataclass(frozen=True, slots=True)
class Applicability:
    """How the document of this prefix is known to apply, and the protocol that it adds to, by its prefix.

    `product` is the one that it is about, whose versions its rules may name; empty where there is none.
    """

    document: str
    protocol: str
    capabilities: tuple[str, ...]
    product: str = ""

    def untold(self, properties: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the capabilities that a server with these properties does not tell to be true."""
        told = promises(properties)
        return tuple(each for each in self.capabilities if each not in told)


def promises(properties: Mapping[str, Any]) -> frozenset[str]:
    """Return the capabilities that a server with these properties tells to be true."""
    told = properties.get("capabilities")
    known = told if isinstance(told, Mapping) else {}
    return frozenset(str(name) for name, value in known.items() if value is True)


@cache
def optional(folder: Path = DOCUMENTS) -> Mapping[str, Applicability]:
    """Return by prefix the documents that only some products promise. Raises DocumentError."""
    return {
        prefix: Applicability(
            prefix, entry["protocol"], tuple(entry["capabilities"]), entry.get("product", "")
        )
        for prefix, entry in index(folder).items()
        if "protocol" in entry
    }


def protocol(document: str) -> str:
    """Return the prefix of the document that defines the protocol which this `document`, or rule, is about.

    `0-9-1/grammar` is about that of `0-9-1`, and so is what adds to it.
    """
    root = document.partition("/")[0]
    found = optional().get(root)
    return found.protocol if found else root


def judged_with(document: str) -> str:
    """Return the prefix of the document that a `document` goes with: of its protocol, itself if optional."""
    return document if document in optional() else protocol(document)


def vocabulary(document: str, folder: Path = DOCUMENTS) -> Grammar:
    """Return the grammar of the protocol `document` with the methods that optional documents add to it.

    Raises DocumentError.
    """
    entries = index(folder)
    further = (
        entries[each.document]["file"] for each in optional(folder).values() if each.protocol == document
    )
    return extended(folder / entries[document]["file"], tuple(folder / each for each in further))


def said_of(rule: Rule) -> str:
    """Return the product and the versions of it that a rule is said of; empty where that is all of them."""
    return f"{optional()[rule.document].product} {rule.versions}" if rule.versions else ""


def unpromised(target: str, document: str, claimed: Collection[str], properties: Mapping[str, Any]) -> str:
    """Say why an optional document is not about a target; empty where it is.

    `claimed` are documents that were asked for or that the target's description claims; `properties` is what
    the target tells of itself.
    """
    untold = optional()[document].untold(properties)
    if document in claimed or not untold:
        return ""
    return f"{target} does not promise it: not by its description, nor by telling {', '.join(untold)}"
