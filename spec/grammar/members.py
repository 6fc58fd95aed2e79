"""What is true of single members of the families: why one cannot be judged, is stronger, or read otherwise.

Each is found by its family and the name of its subject; what holds for a whole family stands with it, in
`spec.grammar.families`.
"""

from __future__ import annotations

from collections.abc import Mapping

from spec.grammar.sent import UNTOLD

FLOW_OK = {
    "channel.flow-ok": "It answers Channel.Flow, which a server sends when it likes, if ever: where nobody "
    "awaits it, it is wrong already as it stands."
}
CLOSE_OK = {
    "connection.close-ok": "Behind its own Close a server may end the socket in any case: whether it took "
    "the method for Close-Ok, refused or discarded it cannot be told apart."
}
OUT_OF_REACH: Mapping[str, Mapping[str, str]] = {
    "level": {
        "no-consumers": "The code comes in basic.return, which closes nothing.",
    },
    "carries": UNTOLD,
    "truncated": FLOW_OK,
    "trailing": FLOW_OK | CLOSE_OK,
    "unopened": FLOW_OK,
    "channel-zero": FLOW_OK,
}
"""Why a rule of a family cannot be judged on a server after all: by the name of its subject."""

STRONGER: Mapping[tuple[str, str], str] = {
    (
        "channel-zero",
        "publish",
    ): "The content comes with its method, and 4.2.6.1 says that a peer which receives a content frame on "
    "channel zero MUST end the connection. What the server makes of a client's fault is judged.",
}
"""Why a rule is a MUST although its family is a SHOULD: by family and the name of the subject."""

CONTESTED = frozenset("sUuilL")
"""Tags of table types that implementations read otherwise than the grammar of 4.2.1."""
DISPUTED = (
    "Implementations give this tag another meaning than the grammar of 4.2.1 (s for a short integer, l "
    "for a signed one, U for none at all), or know none of them: what the grammar says is judged, as strong "
    "as SHOULD."
)
DISPUTED_READING = (
    "Preferred: the value comes with the tag and the octets it was published with. That it comes under "
    "another tag, or is refused because the tag means something else there, is legal and recorded. A message "
    "that comes without the value, and none at all, is a miss."
)

SIGNS = (
    "Implementations differ in the sign: values below 2^63 are judged. Preferred: the value comes with the "
    "tag and the octets it was published with. The same value under the other of the two tags is legal, not "
    "preferred; a refusal by Close with 501 or 502 is legal and recorded, as "
    "0-9-1/prose/4.2.1.table-types-in-doubt has it. Another value, and none, is a miss."
)
UNPROVOKED = ("resource-error", "internal-error")
"""Reply codes that no client can cause at will: what a server cannot hold, and faults of its own."""

READINGS: Mapping[tuple[str, str], str] = {
    (
        "implemented",
        "recover",
    ): "The grammar names no response, but there is a method recover-ok, and the text says "
    "that it acknowledges recover: it is required.",
    (
        "implemented",
        "reject",
    ): "That a message rejected without requeue is discarded or dead-lettered is said "
    "without a keyword: one that goes back to its queue is heard and a SHOULD missed. What stays with the "
    "channel that rejected it was not heard: a miss.",
    (
        "table",
        "decimal-value",
    ): "The grammar has an unsigned number, the text a signed one: positive values are judged.",
    ("table", "field-array"): "The grammar has an integer before the values; it counts octets, not values.",
    ("table", "long-long-int"): SIGNS,
    ("table", "long-long-uint"): SIGNS,
}
"""Readings of single rules, by family and the name of the subject."""
