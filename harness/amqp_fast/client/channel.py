"""What a scenario says on a channel, and by a handle of it.

Words come in two kinds. *Controls* (`ask`, `handle`, `messages`, …) do what must work for a rule to be judged
at all; when they fail the scenario ends as an error of its set-up. Words in the third person (`tries`,
`hears`, `stays_quiet`) and `expect` judge the rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

from harness.amqp_fast.client.link import Link, Said
from harness.amqp_fast.client.outcomes import Closed, Observation, Received, Silence, message, replied
from harness.amqp_fast.client.whole import Whole
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Frame, frame
from harness.amqp_fast.wire.vocabulary import OK, QUEUE, Channel, Handle, MessageHead
from harness.play.expect import ControlFailed, Outcome

ASIDE = (Handle.Notify, Handle.Created, Handle.Prepare)
"""What a command may lead to before it is confirmed (522)."""
LATEST = 0xFFFFFFFF
"""A message number that no channel comes to: an ACK up to there covers everything."""
LONGEST = 1 << 20
"""Numbers of a range in HANDLE INDEX, beyond which nobody reads them one by one."""


def carrying(command: Any, fragment: bytes) -> Frame:
    """Put a command in a frame with a fragment behind it, whose size it tells."""
    return frame(command.replace(fragment_size=len(fragment)), fragment)


class Around(Whole, ABC):
    """A connection as its channels see it."""

    @abstractmethod
    def channel(self, number: int | None = None, **fields: Any) -> FastChannel:
        """Open a channel (the next free number, unless given) with these fields."""

    @abstractmethod
    def unopened(self, number: int | None = None) -> FastChannel:
        """Give a channel that has not been opened yet (the next free number, unless given)."""


class Conversation:
    """What is said on a channel, and what comes on it."""

    def __init__(self, connection: Around, number: int) -> None:
        self.connection = connection
        self.on = number
        """The number of the channel that the answers come on."""
        self.context = connection.context
        self.link: Link = connection.link

    # -- sending and judging ---------------------------------------------------------------------------

    def send(self, *what: Said) -> None:
        """Send commands, frames, octets in one write."""
        self.link.send(*what)

    def expect(self, *outcomes: Outcome | type[Command], acknowledge: bool = True) -> Any:
        """Judge the next observation on this channel and return its command, if it is one. Raises Unmet."""
        seen = self.observe(*outcomes, acknowledge=acknowledge)
        return seen.command if isinstance(seen, Received) else seen

    def observe(self, *outcomes: Outcome | type[Command], acknowledge: bool = True) -> Any:
        """Judge as `expect` does, and return the observation, a message with its octets. Raises Unmet."""
        return self.link.expect(self.on, *outcomes, acknowledge=acknowledge)

    def tries(self, what: Said, *outcomes: Outcome | type[Command]) -> Any:
        """Send something and judge what comes next, as `expect` does. Raises Unmet."""
        self.send(what)
        return self.expect(*outcomes)

    def confirms(self, command: Any, *codes: int) -> None:
        """Send a command with a confirm-tag and judge that it is confirmed, with 200 unless given."""
        tag = command.confirm_tag or self.connection.tag()
        self.send(command.replace(confirm_tag=tag))
        self.expect(replied(reply_of(command), tag, *codes))

    def hears(self, *bodies: bytes, **values: Any) -> list[Received]:
        """Judge that messages with these bodies come next, in this order; give them. Raises Unmet."""
        return [self.observe(message(body, **values)) for body in bodies]

    def stays_quiet(self) -> None:
        """Judge that nothing has come: the answer to a later command must be the first. Raises Unmet."""
        tag = self.connection.tag()
        self.send(self._fence(tag))
        legal = replied(Channel.Reply, tag) | replied(Handle.Reply, tag)
        self.expect(replace(legal, says="nothing before the confirmation of a later command"))

    def got_nothing(self) -> None:
        """Judge that nothing has come up to now, where no fence can be sent any more. Raises Unmet."""
        seen = self.link.next(self.on, 0.0)
        came = not isinstance(seen, Silence | Closed)
        self.link.judged("nothing more on the channel", self.link.signature(seen), not came)

    def _fence(self, tag: int) -> Command:
        """Make a command that changes nothing and is confirmed: opening a handle of its own."""
        return Handle.Open(self.on, self.connection.next_handle(), tag)

    # -- controls --------------------------------------------------------------------------------------

    def ask(self, command: Any, *answers: type[Command]) -> Any:
        """Send a command and take its answer, its reply of success unless given; messages are put aside.

        Raises ControlFailed.
        """
        if not answers and not command.confirm_tag:
            command = command.replace(confirm_tag=self.connection.tag())
        self.send(command)
        # A name that we gave may be told again, or not: nobody waits for it.
        known = isinstance(command, Handle.Consume) and command.dest_name != b""
        self._set_aside_messages(command.full_name, known)
        answer = self.control(command.full_name, *(answers or (reply_of(command),)))
        if not answers and answer.reply_code != OK:
            raise self.link.failed(command.full_name, Received(answer))
        return answer

    def control(self, what: str, *kinds: type[Command]) -> Any:
        """Take the next command on this channel, one of these. Raises ControlFailed."""
        return self._control(what, kinds).command

    def _control(self, what: str, kinds: Sequence[type[Command]]) -> Received:
        seen: Observation = self.link.next(self.on, self.context.due(what, self.context.patience.due))
        if isinstance(seen, Received) and isinstance(seen.command, tuple(kinds)):
            return seen
        self.link.acknowledge_close(seen)
        raise self.link.failed(what, seen)

    def _set_aside_messages(self, what: str, forgets_names: bool = False) -> None:
        # Look for the first observation that is no message, then put what was skipped behind it.
        skipped: list[Observation] = []
        while True:
            seen: Observation = self.link.next(self.on, self.context.due(what, self.context.patience.answer))
            if isinstance(seen, Received) and isinstance(seen.command, ASIDE):
                if not (forgets_names and isinstance(seen.command, Handle.Created)):
                    skipped.append(seen)
                continue
            self.link.put_back(self.on, [seen, *skipped])
            return

    def waits(self, seconds: float = 0.05) -> None:
        """Let so many seconds pass; what comes meanwhile is there to be expected."""
        self.link.listen(seconds)

    def fence(self) -> Self:
        """Wait until everything sent on this channel so far has been processed."""
        self.ask(self._fence(self.connection.tag()))
        return self

    def messages(self, count: int) -> list[Received]:
        """Take the next `count` messages. Raises ControlFailed when one is missing or other things come."""
        return [self._control(f"message {n + 1} of {count}", [Handle.Notify]) for n in range(count)]

    def arrived(self) -> list[Received]:
        """Give the messages that came and were put aside, or left; waits for nothing."""
        found: list[Received] = []
        while isinstance(seen := self.link.next(self.on, 0.0), Received):
            if not isinstance(seen.command, Handle.Notify):
                self.link.put_back(self.on, [seen])
                break
            found.append(seen)
        return found


class FastChannel(Conversation):
    """A channel of a connection."""

    def __init__(self, connection: Around, number: int) -> None:
        super().__init__(connection, number)
        self.id = number

    def handle(self, number: int | None = None, **fields: Any) -> FastHandle:
        """Open a handle to send, consume and browse, or with these fields; its number is new unless given."""
        handle = self.unopened(number)
        self.ask(handle.opening(**fields))
        return handle

    def unopened(self, number: int | None = None) -> FastHandle:
        """Give a handle that has not been opened yet (a new number, unless given)."""
        return FastHandle(self, self.connection.next_handle() if number is None else number)

    def ack(self, number: int = LATEST) -> None:
        """Acknowledge all messages up to a number. Raises ControlFailed."""
        tag = self.connection.tag()
        self.send(Channel.Ack(self.id, tag, number))
        self._set_aside_messages(Channel.Ack.full_name)
        # Whose reply confirms it, the text says in two ways.
        self.control(Channel.Ack.full_name, Channel.Reply, Handle.Reply)

    def commit(self) -> None:
        """Commit the transaction. Raises ControlFailed."""
        self.ask(Channel.Commit(self.id))

    def roll_back(self) -> None:
        """Roll the transaction back. Raises ControlFailed."""
        self.ask(Channel.Rollback(self.id))

    def close(self) -> None:
        """Close the channel. Raises ControlFailed."""
        self.ask(Channel.Close(self.id, OK, "done"), Channel.Close)


class FastHandle(Conversation):
    """A handle of a channel; its answers come on that."""

    def __init__(self, channel: FastChannel, number: int) -> None:
        super().__init__(channel.connection, channel.id)
        self.channel = channel
        self.id = number

    def opening(self, **changes: Any) -> Handle.Open:
        """Give a HANDLE OPEN for all uses that asks for a confirmation, altered as given."""
        given = Handle.Open(self.channel.id, self.id, self.connection.tag(), True, True, True)
        return given.replace(**changes)

    def carries(
        self,
        dest: str | bytes,
        body: bytes = b"",
        *,
        service: int = QUEUE,
        tag: int = 0,
        most: int = 0,
        **head: Any,
    ) -> list[Frame]:
        """Give the frames that send a message: in fragments of `most` octets, as few as may be unless given.

        `head` are fields of its header; the body's size is told unless given.
        """
        octets = MessageHead(**{"body_size": len(body), **head}).encode() + body
        size = most or self.connection.frame_max
        pieces = [octets[start : start + size] for start in range(0, len(octets), size)]
        said = Handle.Send(self.id, tag, service, dest_name=dest)
        return [carrying(said.replace(partial=piece is not pieces[-1]), piece) for piece in pieces]

    def publish(self, dest: str | bytes, *bodies: bytes, **how: Any) -> None:
        """Send messages, each confirmed, `how` as `carries` has it. Raises ControlFailed."""
        for body in bodies:
            self.send(*self.carries(dest, body, tag=self.connection.tag(), **how))
            self._set_aside_messages(Handle.Send.full_name)
            answer = self.control(Handle.Send.full_name, Handle.Reply)
            if answer.reply_code != OK:
                raise self.link.failed(Handle.Send.full_name, Received(answer))

    def consuming(self, dest: str | bytes, **fields: Any) -> Handle.Consume:
        """Give a HANDLE CONSUME of a queue with room for ten messages, altered as given."""
        given = Handle.Consume(self.id, 0, QUEUE, 10, dest_name=dest)
        return given.replace(**fields)

    def consume(self, dest: str | bytes, **fields: Any) -> Self:
        """Begin to consume, as `consuming` has it; give the handle. Raises ControlFailed."""
        self.ask(self.consuming(dest, **fields))
        return self

    def pause(self, on: bool = True) -> None:
        """Stop messages, or have them sent again. Raises ControlFailed."""
        self.ask(Handle.Flow(self.id, 0, on))

    def listed(self, queue: str | bytes, first: int = 0) -> list[int]:
        """Ask which messages are in a queue; give their IDs. Raises ControlFailed."""
        return list(numbers(self.ask(Handle.Query(self.id, first, queue), Handle.Index).message_list))

    def close(self) -> None:
        """Close the handle. Raises ControlFailed."""
        self.ask(Handle.Close(self.id, OK, "done"), Handle.Close)


def reply_of(command: Command) -> type[Command]:
    """Give the reply that confirms a command: that of its class."""
    return Channel.Reply if command.spec.class_name == "channel" else Handle.Reply


def numbers(listed: bytes) -> Iterator[int]:
    """Read the text of HANDLE INDEX: numbers and ranges (3.5.11). Raises ControlFailed for other text."""
    for each in listed.split():
        first, _, last = each.partition(b"-")
        if not (first.isdigit() and (last or first).isdigit()):
            raise ControlFailed("HANDLE QUERY", "a list that is none")
        if int(last or first) - int(first) > LONGEST:
            raise ControlFailed("HANDLE QUERY", "a list of more than a queue can hold")
        yield from range(int(first), int(last or first) + 1)
