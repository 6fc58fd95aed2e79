"""The family of rules about a blank queue name, which stands for the queue declared last on the channel."""

from __future__ import annotations

from spec.grammar.family import Family
from spec.rules import Level

CURRENT = Family(
    "current",
    "{field}.current",
    "In {method} a blank {field} stands for the queue that was declared last on the channel.",
    "Declare two queues on a channel, the last of them by a name of ours, by one of the server's, once "
    "more, or without waiting; then send {method} with a blank {field}: it takes effect on that one. "
    "Where none was declared it is refused.",
    most=Level.SHOULD,
    reason="No keyword: the domain queue-name describes it. The rules named queue-known bind the client to "
    "give a name or to have declared a queue.",
    reading="The last queue is that of the last Declare that was carried out, whoever named it, whether "
    "or not an answer was wanted. Whether a passive Declare counts is not said, and not tried. Where no "
    "queue was declared the domain says 502 on the channel, which by its class is an exception of the "
    "connection, and the rules named queue-known say 404: each will do. Methods that have such a rule are "
    "judged there. A server that makes no names is judged without them "
    "(0-9-1/queue.declare.queue.default-name).",
)
"""One rule for each method that takes a queue; Declare is none, where a blank name stands for a new one."""

NEWLY_NAMED = "queue.declare"
"""The method in which a blank queue name has a significance of its own."""
