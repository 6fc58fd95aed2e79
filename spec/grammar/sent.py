"""The family of rules about what a server fills the fields of its methods with.

What each has to carry is the document's own description (`spec.readers.descriptions`); here stands how
strongly that obliges, which other rules are about the same, and what nobody can compare it with.
"""

from __future__ import annotations

from collections.abc import Mapping

from spec.grammar.family import Family
from spec.rules import Level

SENT = Family(
    "carries",
    "{field}.carries",
    "In a {method} that a server sends, {field} carries what the document describes: {described}",
    "Bring about a {method} of which it is known what {field} has to be, and compare.",
    most=Level.SHOULD,
    reason="A description has no keyword: what it says is judged as strong as SHOULD. Where the document's "
    "own rules about the field or its domain say MUST of the server, so does this.",
)
"""One rule for each field of each method that a server sends."""

OPAQUE = "It is opaque: only the mechanism that made it knows what it has to be."
WISH = (
    "It is what the server wishes for, which nobody else knows. What it means once it is agreed upon is "
    "judged by 0-9-1/prose/4.2.7.heartbeats-at-intervals."
)
FOR_PEOPLE = "It is a text for people, in words of the server's own: nothing on the wire tells a good one."
UNTOLD: Mapping[str, str] = {"challenge": OPAQUE, "heartbeat": WISH, "reply-text": FOR_PEOPLE}
"""Why what a field carries cannot be judged, by its name."""

COUNTED = "The message that is out awaits acknowledgement: by the domain's text it is not counted."
PRESENT = (
    "When a message that was published is present in its queue is not said: it is looked for once another "
    "was got that was published with it."
)
BLAMED = (
    "Of methods that are alone at fault the very one is asked for. Of every other Close of the run, class "
    "and method of one that can have caused it: it is on the channel that was closed, and was not answered "
    "yet, nor was what came after it, for methods of one channel are processed in order (4.7); inside a "
    "transaction a Commit may find fault with all of it. Zeros are legal where something was sent that holds "
    "no readable method (content frames, malformed frames, a channel above channel-max), where nothing "
    "awaits an answer, and with 320 and 541, which a server says of itself."
)
CODES = (
    "Any constant of an error will do: whether it is the one that fits is judged by the rules about the "
    "error. 0-9-1/prose/4.8.2.reply-code-severity allows codes of its form that this version does not define."
)
NO_SUCH_CODE = (
    "No constant stands for a mandatory message that no queue takes: which code comes is recorded, defined "
    "or not. Zero, success, and what ends a connection tell nothing of why it came back. A message that "
    "was immediate has a constant: who supports the flag uses it."
)
NULL = "The comment before the field is all that is said of it. Zero is, in a string, the empty one."
WHERE = "The exchange the message was published to, not one it was bound to, and the key as it was published."
READINGS: Mapping[str, str] = {
    "connection.start.version-major": "A server may propose a lower version than was asked for "
    "(0-9-1/connection.start.server-support): legal, but not preferred where ours is spoken.",
    "connection.start.version-minor": "As 0-9-1/grammar/connection.start.version-major.carries.",
    "connection.start.server-properties": "Which there are is judged by "
    "0-9-1/connection.start.server-properties.required-fields. Of those that it names, and that are there, "
    "each is a text that is not empty: else it identifies nothing.",
    "connection.start.mechanisms": "The form of the list is judged by 0-9-1/prose/2.2.4.mechanisms-listed.",
    "connection.start.locales": "What can be compared is what "
    "0-9-1/connection.start.locales.required-support judges: one locale must be in every list.",
    "connection.tune.channel-max": "A channel with the highest number is opened; what comes of one more is "
    "0-9-1/prose/2.3.3.beyond-channel-max-disconnected. Where no limit is specified there may still be one.",
    "connection.tune.frame-max": "A frame of just that size is taken, header and end included; of more than "
    "a mebioctet, one of that size.",
    "connection.open-ok.reserved-1": NULL,
    "connection.close.reply-code": CODES,
    "connection.close.class-id": BLAMED,
    "connection.close.method-id": BLAMED,
    "channel.open-ok.reserved-1": NULL,
    "channel.flow-ok.active": "That a server implements both values is "
    "0-9-1/grammar/channel.flow.answers: here what it confirms is compared.",
    "channel.close.reply-code": CODES,
    "channel.close.class-id": BLAMED,
    "channel.close.method-id": BLAMED,
    "queue.declare-ok.message-count": f"{COUNTED} {PRESENT}",
    "queue.declare-ok.consumer-count": "That it counts at all is "
    "0-9-1/prose/3.1.6.consumer-created-and-destroyed. Whether a paused consumer is left out is looked at "
    "where the server can pause one.",
    "queue.purge-ok.message-count": f"{COUNTED} It is not purged either (0-9-1/queue.purge.02).",
    "queue.delete-ok.message-count": "The message that is out goes with its queue: by the domain's text it "
    "is not counted, by the field's own it may be. Both are legal.",
    "basic.return.reply-code": NO_SUCH_CODE,
    "basic.return.exchange": WHERE,
    "basic.return.routing-key": WHERE,
    "basic.deliver.exchange": WHERE,
    "basic.deliver.routing-key": WHERE,
    "basic.get-ok.exchange": WHERE,
    "basic.get-ok.routing-key": WHERE,
    "basic.get-ok.message-count": "The message that came is not among them: it awaits acknowledgement, or "
    "is settled.",
    "basic.get-empty.reserved-1": NULL,
}
"""Readings of single rules, by method and field."""

TELLS_WHY = ("prose/2.3.6.exception-tells-why", "prose/4.8.2.reply-code-severity")
SEE: Mapping[str, tuple[str, ...]] = {
    "connection.close.reply-code": TELLS_WHY,
    "channel.close.reply-code": TELLS_WHY,
    "basic.return.reply-code": ("basic.publish.immediate.01",),
    "basic.return.exchange": ("basic.publish.mandatory.01",),
    "basic.return.routing-key": ("basic.publish.mandatory.01",),
    "basic.consume-ok.consumer-tag": ("basic.consume.consumer-tag.01",),
    "basic.deliver.consumer-tag": ("prose/3.1.6.consumer-belongs-to-channel",),
}
"""Rules about the same that neither the document's place nor a reading tells, by method and field."""
