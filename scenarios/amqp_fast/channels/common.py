"""What checks of channels and messages have in common: a queue that is watched, what is left in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.amqp_fast.client.channel import FastChannel, FastHandle
from harness.amqp_fast.client.outcomes import closed, message, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import Channel, Connection
from harness.play.expect import Outcome

MARK = b"the mark"
"""The body of a message that is sent only to show that nothing came before it."""

WORDLESS = "the stream ends without a command that tells the error"
GENERAL = "3.3.10: the general response to an error in a channel command closes the connection"
OF_UNOPENED: tuple[Outcome, ...] = (
    closed(Channel.Close) | closed(Connection.Close),
    stream_ends().under(WORDLESS),
)
"""How a command is refused whose channel is not open."""
OF_CHANNEL: tuple[Outcome, ...] = (
    closed(Channel.Close),
    closed(Connection.Close).under(GENERAL),
    stream_ends().under(WORDLESS),
)
"""How CHANNEL OPEN, COMMIT and ROLLBACK are refused (3.3.8)."""


@dataclass(frozen=True)
class Stage:
    """A queue with a `reader` on one connection, and on another one a `plain` and a transacted handle."""

    queue: str
    reader: FastHandle
    plain: FastHandle
    within: FastHandle

    @property
    def channel(self) -> FastChannel:
        """The channel that is transacted."""
        return self.within.channel

    def sends(self, *bodies: bytes) -> None:
        """Send messages within the transaction; they have been taken when this is over."""
        self.within.publish(self.queue, *bodies)

    def shows(self, *bodies: bytes) -> None:
        """Judge that just these messages have come to the reader: one sent now comes next. Raises Unmet."""
        self.plain.publish(self.queue, MARK)
        self.reader.hears(*bodies, MARK)


def staged(server: Server) -> Stage:
    """Give a queue that is watched, and a transaction to send to it."""
    queue = server.queue()
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    return Stage(queue, reader, server.handle(), server.channel(transacted=True).handle())


def left(server: Server, queue: str) -> list[bytes]:
    """Take all messages out of a queue by a consumer of its own; give their bodies. Raises ControlFailed."""
    server.handle().publish(queue, MARK)
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    found: list[bytes] = []
    while (body := reader.messages(1)[0].body) != MARK:
        found.append(body or b"")
    reader.close()
    return found


def holds(server: Server, queue: str, *bodies: bytes) -> None:
    """Judge that just these messages are in a queue, in any order, and take them. Raises Unmet."""
    found = left(server, queue)
    wanted, came = (", ".join(each.decode("utf-8", "replace") for each in some) for some in (bodies, found))
    server.judge(f"{wanted or 'nothing'} in the queue", came or "nothing", sorted(found) == sorted(bodies))


def arrives(server: Server, queue: str, body: bytes, **head: object) -> None:
    """Judge that a consumer of its own gets this message first, with these values in its header."""
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    reader.observe(message(body, head=head))
    reader.close()


def untagged(command: Any) -> bool:
    """Say whether a command asks for no confirmation."""
    return not command.confirm_tag
