"""A frame-level client of AMQP/Fast: one connection, nothing automatic that a scenario did not ask for.

It cuts what arrives into observations per channel, puts the fragments of a message together, and answers a
close that was expected. A PING that asks for one is answered; one that does not is no observation unless
somebody asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from harness.amqp_fast.client.outcomes import Observation, Received, answered, signature
from harness.amqp_fast.client.transcript import LIMIT, Transcript, command_of
from harness.amqp_fast.wire.annotate import ANNOTATOR
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Frame, FrameReader, Initiation, RawFrame, Unit, frame
from harness.amqp_fast.wire.vocabulary import Channel, Connection, Handle
from harness.play import link
from harness.play.context import Context
from harness.play.expect import Outcome
from harness.play.link import EVERYWHERE
from harness.wire.journal import SENT
from harness.wire.transport import Transport
from harness.wire.units import ANY_SIZE, Garbage

Said: TypeAlias = Command | Frame | RawFrame | Initiation | bytes
"""What can be sent: a command, one with a fragment, a frame as malformed as needed, any octets."""


@dataclass(slots=True)
class _Message:
    """A message of which fragments are still to come."""

    octets: bytearray = field(default_factory=bytearray)
    parts: list[Command] = field(default_factory=list)


class Link(link.Link[Unit, Received]):
    """One connection to the target. A place is the number of a channel, 0 for the whole connection.

    What is said of a handle comes on the channel that we opened it on. With `hears_pings` every PING is an
    observation, with `hears_parts` every confirmation of a message that went in fragments with one tag: else
    the first one is, for a server may confirm each of them.
    """

    annotator = ANNOTATOR

    def __init__(self, transport: Transport, context: Context, name: str, protocol: str) -> None:
        super().__init__(transport, context, name, protocol, FrameReader(limit=LIMIT))
        self.hears_pings = self.hears_parts = False
        self.channels: dict[int, int] = {}
        """The channel of each handle that we have opened."""
        self._asked_pings = 0
        self._said_close: set[tuple[type[Command], int]] = set()
        """What we have said close of and not opened again: the close of it that comes is the answer."""
        self._parts: dict[tuple[int, int], bool] = {}
        """By handle and tag of fragments that others follow: whether one has been confirmed."""
        self._messages: dict[int, _Message] = {}
        self._spoken = FrameReader(limit=ANY_SIZE, initiated=False)

    # -- sending ---------------------------------------------------------------------------------------

    def send(self, *what: Said) -> None:
        """Send all in one write."""
        pieces = [_encoded(each) for each in what]
        octets = b"".join(pieces)
        # Blanked as a whole: a password may reach over what is malformed.
        at, blanked = 0, self.annotator.blanked(octets)
        for piece in pieces:
            cut = list(self._spoken.feed(piece))
            unit = cut[0][1] if len(cut) == 1 and cut[0][0] == piece else None
            kept = blanked[at : at + len(piece)]
            self._keep(SENT, kept, unit if kept == piece else None)
            at += len(piece)
            for _, each in cut:
                self._went(each)
                self._note_sent(each)
        if self._spoken.broken:
            self._spoken = FrameReader(limit=ANY_SIZE)
        self._push(octets)

    def _note_sent(self, unit: Unit) -> None:
        command = command_of(unit)
        match command:
            case Handle.Open(channel_id=channel, handle_id=number):
                self.channels[number] = channel
                self._said_close.discard((Handle.Close, number))
            case Channel.Open(channel_id=number):
                self._said_close.discard((Channel.Close, number))
            case Handle.Send(handle_id=number, confirm_tag=tag, partial=True) if tag:
                self._parts.setdefault((number, tag), False)
            case Connection.Ping(respond=True):
                self._asked_pings += 1
            case Handle.Close(handle_id=number) | Channel.Close(channel_id=number):
                self._said_close.add((type(command), number))
            case Connection.Close():
                self._said_close.add((Connection.Close, EVERYWHERE))

    def acknowledge_close(self, seen: Observation) -> None:
        """Answer a close by one of its kind, unless it is the answer to ours."""
        match seen:
            case Received(command=Handle.Close(handle_id=number)):
                if (Handle.Close, number) not in self._said_close:
                    self.send(Handle.Close(number, 200, "Ok"))
            case Received(command=Channel.Close(channel_id=number)):
                if (Channel.Close, number) not in self._said_close:
                    self.send(Channel.Close(number, 200, "Ok"))
            case Received(command=Connection.Close()):
                if (Connection.Close, EVERYWHERE) not in self._said_close:
                    self.send(Connection.Close(200, "Ok"))
                self.over = True

    # -- receiving -------------------------------------------------------------------------------------

    def _only_lives(self, unit: Unit) -> bool:
        return isinstance(command_of(unit), Connection.Ping)

    def _unfinished(self, channel: int) -> bool:
        return channel in self._messages or super()._unfinished(channel)

    def _dispatch(self, unit: Unit) -> None:
        if isinstance(unit, Garbage):
            self._unreadable("octets that are no frame")
            return
        command = command_of(unit)
        if command is None or not isinstance(unit, Frame):
            self._unreadable("a frame that cannot be decoded")
        elif isinstance(command, Connection.Ping):
            self._take_ping(command)
        elif isinstance(command, Handle.Notify):
            self._take_part(command, unit.fragment)
        elif not self._confirms_another_part(command):
            place = self._place_of(command)
            self._inboxes[place].append(Received(command, unit.fragment, (command,), self._kept))

    def _confirms_another_part(self, command: Command) -> bool:
        """Say whether this tells nothing new: of a message in fragments, one of which has been confirmed."""
        match command:
            case Handle.Reply(handle_id=number, confirm_tag=tag, reply_code=200):
                known = self._parts.get((number, tag))
                self._parts |= {} if known is None else {(number, tag): True}
                return bool(known) and not self.hears_parts
        return False

    def _take_ping(self, ping: Connection.Ping) -> None:
        if ping.respond:
            self.send(Connection.Ping())
        if self._asked_pings or self.hears_pings:
            self._asked_pings -= 1 if self._asked_pings else 0
            self._inboxes[EVERYWHERE].append(Received(ping, b"", (ping,), self._kept))

    def _take_part(self, notify: Handle.Notify, fragment: bytes) -> None:
        place = self._place_of(notify)
        begun = self._messages.setdefault(place, _Message())
        begun.octets += fragment
        begun.parts.append(notify)
        if not notify.partial:
            del self._messages[place]
            whole = Received(notify, bytes(begun.octets), tuple(begun.parts), self._kept)
            self._inboxes[place].append(whole)

    def _place_of(self, command: Any) -> int:
        group = command.spec.class_name
        if group == "connection":
            return EVERYWHERE
        if group == "channel":
            return int(command.channel_id)
        return self.channels.get(command.handle_id, EVERYWHERE)

    # -- what the observations are called --------------------------------------------------------------

    def _answered(self, kind: type[Any]) -> Outcome:
        return answered(kind)

    def signature(self, seen: Observation) -> str:
        return signature(seen)

    def _place(self, seen: Observation) -> int:
        return seen.frame if isinstance(seen, Received) else self._kept

    def _finished_transcript(self) -> Transcript:
        return Transcript(self.transcript)


def _encoded(what: Said) -> bytes:
    if isinstance(what, bytes):
        return what
    return frame(what).encode() if isinstance(what, Command) else what.encode()
