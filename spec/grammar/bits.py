"""The family of rules about what a bit decides that a client sets or leaves clear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spec.grammar.family import Family
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


RESENT = Meaning(
    "clear, what is resent goes to whom it was sent before; set, it may go to another",
    "Leave three messages unacknowledged, and let a consumer of another connection wait at their queue; then "
    "send {method} with requeue clear: what comes again comes to the one that had it, nothing to the other.",
    "How many are resent is left open: none will do. Set, the bit leaves all open: nothing is judged there. "
    "Where the method is refused nothing is resent: that it is implemented is judged by another rule.",
)

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
    "basic.qos.global": Meaning(
        "clear, a prefetch window is that of the channel alone; set, that of all channels of the connection",
        "Set a window of one message without global on one of three channels of a connection, one of which "
        "is opened behind it: with one message out that channel gets no more; each other one gets a message.",
        "A window that is shared holds back all that would go to the others. One message has to come there: "
        "a server may always send less than it is allowed to. That a window with global is kept by all "
        "channels together is judged by 0-9-1/basic.qos.prefetch-count.01.",
    ),
    "basic.recover.requeue": RESENT,
    "basic.recover-async.requeue": RESENT,
}
"""By class, method and field."""
