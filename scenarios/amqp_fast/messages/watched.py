"""What watches of messages remember: the fragments of each message, whole when it is complete."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.amqp_fast.client.outcomes import read_head
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import Channel, Handle, MessageHead
from harness.play.watching import State, came, went

MESSAGES = went(Handle.Open, Handle.Ready) + came(Channel.Close, Handle.Notify, Handle.Prepare)
"""What `Fragments` has to see."""


@dataclass
class Coming:
    """A message of which fragments come: its octets so far, and the commands that carried them."""

    octets: bytearray = field(default_factory=bytearray)
    parts: list[Handle.Notify] = field(default_factory=list)

    @property
    def head(self) -> MessageHead | None:
        """Its header; None while that is not whole, or where there is none."""
        found = read_head(bytes(self.octets))
        return found and found[0]

    @property
    def begins(self) -> bool:
        """Whether it is its first fragment that came last."""
        return len(self.parts) == 1

    @property
    def is_whole(self) -> bool:
        """Whether its last fragment has come."""
        return not self.parts[-1].partial

    @property
    def missing(self) -> int | None:
        """How many octets of the body its header announces beyond those that came; None without a header."""
        head = self.head
        return None if head is None else len(head.encode()) + head.body_size - len(self.octets)


class Fragments(State):
    """The channel of each handle, and the message that is under way on each channel."""

    def __init__(self) -> None:
        self.channels: dict[int, int] = {}
        self.coming: dict[int, Coming] = {}
        self.prepared: dict[int, bytes] = {}

    def see(self, each: Passage) -> Coming | None:
        """Take note of a passage; give the message to which it is a fragment."""
        said, unit = each.said, each.unit
        match said:
            case Handle.Open(channel_id=channel, handle_id=number):
                self.channels[number] = channel
            case Channel.Close(channel_id=channel):
                self.coming.pop(channel, None)
            case Handle.Prepare(handle_id=number):
                self.prepared[number] = unit.fragment if isinstance(unit, Frame) else b""
            case Handle.Ready(handle_id=number, message_size=size) if number in self.prepared:
                self._begin(number, size)
            case Handle.Notify(handle_id=number) if number in self.channels and isinstance(unit, Frame):
                message = self.coming.setdefault(self.channels[number], Coming())
                message.octets += unit.fragment
                message.parts.append(said)
                if not said.partial:
                    del self.coming[self.channels[number]]
                return message
        return None

    def _begin(self, number: int, held: int) -> None:
        """Begin a message with what was prepared of it, and is held."""
        octets = self.prepared.pop(number)
        if found := read_head(octets):
            self.coming[self.channels.get(number, 0)] = Coming(bytearray(octets[: found[1] + held]))
