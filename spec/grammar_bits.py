"""The family of rules about what a bit decides that a client sets or leaves clear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spec.grammar_family import Family
from spec.rules import Level

BITS = Family(
    "bit",
    "{field}.decides",
    "In {method} {field} decides: {decides}.",
    "{trial}",
    most=Level.SHOULD,
    reason="A description has no keyword: what it says of the bit is judged as strong as SHOULD, set as well "
    "as clear.",
)
"""One rule for each bit whose two meanings no other rule of the document is about."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a bit decides, in our words; how that is tried, and read."""

    decides: str
    trial: str
    reading: str


MEANINGS: Mapping[str, Meaning] = {
    "basic.consume.no-local": Meaning(
        "set, nothing comes to the consumer that its own connection published; clear, that comes as well",
        "Consume on one connection, and publish there: the message comes. Consume once more with no-local; "
        "publish on that channel, on another of the connection, and on another connection: what the other "
        "connection published comes, and nothing else.",
        "It is the connection that is compared, not the channel, and no matter when the message was "
        "published. What becomes of a message that is withheld is not said: whether it waits for others or "
        "is dropped is not looked at. What others published is nothing to withhold: a consumer that gets "
        "nothing at all misses it too, and so does a server that refuses the bit.",
    ),
}
"""By class, method and field."""
