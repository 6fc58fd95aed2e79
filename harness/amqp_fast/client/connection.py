"""Connections as a scenario uses them: `whole` has their opening, `channel` what is said on a channel."""

from __future__ import annotations

from typing import Any

from harness.amqp_fast.client.channel import Around, FastChannel
from harness.amqp_fast.wire.vocabulary import Channel


class FastConnection(Around):
    """A connection: the steps of its opening one by one, then channels."""

    _channels = 0

    def channel(self, number: int | None = None, **fields: Any) -> FastChannel:
        """Open a channel (the next free number, unless given) with these fields."""
        channel = self.unopened(number)
        channel.ask(Channel.Open(channel.id, self.tag(), **fields))
        return channel

    def unopened(self, number: int | None = None) -> FastChannel:
        """Give a channel that has not been opened yet (the next free number, unless given)."""
        self._channels = max(self._channels, number or 0) if number is not None else self._channels + 1
        return FastChannel(self, self._channels if number is None else number)
