"""A channel of a server: message numbers, acknowledgements, transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.amqp_fast.tests.second.handle import Handle, Subscription
from harness.amqp_fast.tests.second.refusals import Code, Level, unless
from harness.amqp_fast.tests.second.store import QUEUE, Entry, Message
from harness.amqp_fast.tests.second.uploads import Upload

if TYPE_CHECKING:
    from harness.amqp_fast.tests.second.server import Connection

Fields = dict[str, Any]


@dataclass(slots=True)
class Delivery:
    """A message that a client has; in a transaction also one that it acknowledged."""

    number: int
    entry: Entry
    subscription: Subscription
    acknowledged: bool = False


class Channel:
    """An open channel."""

    def __init__(self, connection: Connection, fields: Fields) -> None:
        self.connection, self.id = connection, fields["channel_id"]
        self.host, self.settings = connection.host, connection.server.settings
        self.transacted, self.restartable = fields["transacted"], fields["restartable"]
        self.closing = False
        self.deliveries: dict[int, Delivery] = {}
        self.uploading: tuple[Handle, Upload] | None = None
        self._sent: list[tuple[int, bytes, Message]] = []
        self._last = 0

    # What the client sends

    def ack(self, fields: Fields) -> None:
        """CHANNEL ACK: all up to this number are done; in a transaction, once it is committed."""
        for delivery in list(self.deliveries.values()):
            if delivery.number <= fields["message_nbr"] and not delivery.acknowledged:
                delivery.subscription.outstanding -= 1
                delivery.acknowledged = True
                if not self.transacted:
                    del self.deliveries[delivery.number]

    def commit(self, fields: Fields) -> None:
        """CHANNEL COMMIT: what was sent goes to its destinations, what was delivered is confirmed."""
        self._is_transacted()
        gone = [name for service, name, _ in self._sent if service == QUEUE and name not in self.host.queues]
        unless(not gone, Level.CHANNEL, Code.NO_DESTINATION, "a queue of the transaction is gone")
        for delivery in self.deliveries.values():
            delivery.subscription.outstanding -= not delivery.acknowledged
        self.deliveries.clear()
        for each in self._sent:
            self.host.publish(*each)
        self._sent.clear()

    def rollback(self, fields: Fields) -> None:
        """CHANNEL ROLLBACK: nothing was sent, nothing was delivered."""
        self._is_transacted()
        self._undo()

    def _is_transacted(self) -> None:
        unless(self.transacted, Level.CHANNEL, Code.NOT_ALLOWED, "the channel is not transacted")

    def _undo(self) -> None:
        self._sent.clear()
        for delivery in list(self.deliveries.values()):
            self.give_back(delivery)

    # What its handles do

    def send(self, service: int, name: bytes, message: Message) -> None:
        """Send a message, at once or with the transaction."""
        if not self.transacted:
            self.host.publish(service, name, message)
            return
        full = 0 < self.settings.txn_limit <= len(self._sent)
        unless(not full, Level.CHANNEL, Code.BEYOND_LIMIT, "the transaction has too many messages")
        self._sent.append((service, name, message))

    def number(self, entry: Entry, subscription: Subscription) -> int:
        """Give the next number to a message that is delivered."""
        self._last += 1
        if not subscription.no_ack:
            self.deliveries[self._last] = Delivery(self._last, entry, subscription)
        return self._last

    def give_back(self, delivery: Delivery) -> None:
        """Put a message back to where it came from."""
        delivery.subscription.outstanding -= not delivery.acknowledged
        del self.deliveries[delivery.number]
        delivery.subscription.queue.put(delivery.entry)

    def keep(self, upload: Upload | None) -> None:
        """Keep what arrived of a message whose transfer is broken off."""
        if upload and upload.header and self.restartable and self.settings.restart == "full":
            self.host.partials[upload.header] = upload.body

    def release_handle(self, handle: Handle) -> None:
        """Close a handle: what it received and did not acknowledge is free again."""
        handle.release()
        if self.uploading and self.uploading[0] is handle:
            self.keep(self.uploading[1])
            self.uploading = None
        for delivery in list(self.deliveries.values()):
            if delivery.subscription.handle is handle and not delivery.acknowledged:
                self.give_back(delivery)

    def release(self) -> None:
        """Close the channel: its transaction is rolled back."""
        for handle in self.connection.handles_of(self):
            self.release_handle(handle)
        self._undo()


HANDLERS: dict[str, Callable[[Channel, Fields], None]] = {
    "channel-ack": Channel.ack,
    "channel-commit": Channel.commit,
    "channel-rollback": Channel.rollback,
}
