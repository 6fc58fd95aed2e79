"""What watches of channels remember: which handle is on which channel, and what is under way there."""

from __future__ import annotations

from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import Channel, Handle
from harness.play.watching import State, came, went

MESSAGES = went(Handle.Open) + came(Channel.Close, Handle.Notify)
"""What `Messages` has to see."""


class Messages(State):
    """The channel of each handle, the number of the last message delivered on it, and one under way."""

    def __init__(self) -> None:
        self.channels: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.under_way: dict[int, Handle.Notify] = {}

    def see(self, said: Command | None) -> Handle.Notify | None:
        """Take note of what is said; give it if it is HANDLE NOTIFY of a handle that is known."""
        match said:
            case Handle.Open(channel_id=channel, handle_id=number):
                self.channels[number] = channel
            case Channel.Close(channel_id=channel):
                self.last.pop(channel, None)
                self.under_way.pop(channel, None)
            case Handle.Notify(handle_id=number) if number in self.channels:
                return said
        return None

    def channel(self, notify: Handle.Notify) -> int:
        """Give the channel that a message comes on."""
        return self.channels[notify.handle_id]

    def goes_on(self, notify: Handle.Notify) -> Handle.Notify | None:
        """Take note of a fragment; give the one before it where it goes on with a message."""
        channel = self.channel(notify)
        before = self.under_way.pop(channel, None)
        if notify.partial:
            self.under_way[channel] = notify
        return before
