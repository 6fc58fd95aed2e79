"""Differences that matter to nobody: what another honest server of AMQP/Fast might say.

None of them may change a verdict. Each is legal by a sentence, which its name or its comment points to.
"""

from collections.abc import Mapping
from typing import Any

from harness.amqp_fast.broken.deviations import Interposer, adds, hears, rewrites, together
from harness.amqp_fast.wire.tables import Table
from harness.amqp_fast.wire.vocabulary import Channel, Connection, Handle

OTHERWISE = "Nein, so geht das nicht."
"""A text that no check can know."""


def turned(table: Table) -> tuple[tuple[str, Any], ...]:
    """Reverse the fields of a table: they have no order."""
    return table.pairs[::-1]


HARMLESS: Mapping[str, Interposer] = {
    "other-order": rewrites(Connection.Tune, options=turned),
    "more-mechanisms": rewrites(Connection.Challenge, mechanisms=b"X-FIRST PLAIN X-LAST"),
    "other-reply-texts": together(
        *(
            rewrites(kind, reply_text=OTHERWISE)
            for kind in (
                Connection.Close,
                Channel.Close,
                Handle.Close,
                Connection.Reply,
                Channel.Reply,
                Handle.Reply,
            )
        )
    ),
    "more-heartbeats": adds(Handle.Reply, Connection.Ping(), before=True),
    "heartbeats-that-ask": adds(Channel.Reply, Connection.Ping(respond=True), before=True),
    "other-order-sent": hears(Connection.Response, lambda it: len(it.responses.pairs) == 2, responses=turned),
    "other-reply-texts-sent": together(
        *(hears(kind, reply_text=OTHERWISE) for kind in (Connection.Close, Channel.Close, Handle.Close))
    ),
}
"""Interposers by name; what ends in -sent is what another honest client might say."""

OF_CLIENTS: Mapping[str, Interposer] = {}
"""What another honest client may say beyond those: none are judged."""
