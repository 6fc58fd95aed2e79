"""To which channel a method of the server's belongs, by what we have said on each.

A server never begins to speak on a channel: what comes on one that we have not used was meant for another,
and so was an answer that only another one waits for. Where we have said what cannot be read, nothing is
concluded: a server may understand more of it than we.
"""

from dataclasses import dataclass, field
from typing import Any

from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEARTBEAT, METHOD, Frame, Unit
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic, Channel, Connection
from harness.wire.units import DecodeError


def answers_to(kind: type[Method]) -> frozenset[str]:
    """Give the full names of the methods that answer one of ours, also one that only its name tells."""
    of = kind.spec.class_name
    named = {f"{of}.{each}" for each in kind.spec.responses} or {f"{kind.full_name}-ok"}
    return frozenset(named & CODEC.methods.keys())


ANSWERED_BY = {kind: answers_to(kind) for kind in CODEC.methods.values()}
ANSWERS = frozenset[str]().union(*ANSWERED_BY.values())
"""What nobody says unasked."""


OF_CONNECTIONS = Connection.Open.spec.class_index.to_bytes(2)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a method belongs: `channel` None where that cannot be told.

    It is `doubtful` whether it is at home on the channel it came on, or is missed on another one: an answer
    that came once more than it was asked for there, while another channel waits for one, or an exception that
    blames what only another has said.
    """

    channel: int | None
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    channel: int
    answers: frozenset[str]


@dataclass
class Places:
    """What we have said on the channels of a connection, and who waits for an answer."""

    _used: set[int] = field(default_factory=set)
    _open: set[int] = field(default_factory=set)
    _opened: set[int] = field(default_factory=set)
    _said_there: set[tuple[int, bytes]] = field(default_factory=set)
    _unanswered: set[tuple[int, bytes]] = field(default_factory=set)
    _asked: set[tuple[int, str]] = field(default_factory=set)
    _awaited: list[_Request] = field(default_factory=list)
    _consumers: set[tuple[int, str]] = field(default_factory=set)
    _nameless: set[int] = field(default_factory=set)
    _published: set[int] = field(default_factory=set)
    _unsure: bool = False
    _learned: bool = False

    def went(self, unit: Unit) -> None:
        """Take note of what we sent."""
        if not isinstance(unit, Frame) or unit.type == HEARTBEAT:
            return
        if unit.type == METHOD:
            self._said(unit)
        if unit.channel or unit.payload[:2] != OF_CONNECTIONS:
            self._used.add(unit.channel)

    def give_up(self) -> None:
        """Conclude nothing from now on: what was sent is no whole frame, or the connection ends."""
        self._unsure = True

    def _said(self, frame: Frame) -> None:
        self._said_there.add((frame.channel, frame.payload[:4]))
        try:
            kind = CODEC.method_class(frame.payload)
        except DecodeError:
            return
        answers = ANSWERED_BY[kind]
        self._asked |= {(frame.channel, name) for name in answers}
        if kind is Basic.Publish:
            self._published.add(frame.channel)
        elif kind is Basic.Consume:
            self._consumes(frame)
        elif kind is Channel.Open:
            self._open.add(frame.channel)
            self._opened.add(frame.channel)
        elif kind is Connection.Close or kind is Connection.CloseOk:
            self.give_up()
        serves = self._opened if kind is Channel.Close else self._open  # it may cross another
        if answers and frame.channel in serves and _is_asking(frame):
            self._awaited.append(_Request(frame.channel, answers))
        else:
            self._unanswered.add((frame.channel, frame.payload[:4]))
        if kind is Channel.Close:
            self._open.discard(frame.channel)  # what we say behind it is discarded

    def _consumes(self, frame: Frame) -> None:
        try:
            consume: Any = frame.method()
        except DecodeError:
            self._nameless.add(frame.channel)
            return
        if consume.consumer_tag:
            self._consumers.add((frame.channel, consume.consumer_tag))
        elif consume.no_wait:
            self._nameless.add(frame.channel)

    def came(self, channel: int, method: Any) -> Place:
        """Take note of a method of another class than connection, and say where it belongs."""
        if self._unsure or not (channel or self._used):
            return Place(channel)
        place = self._place(channel, method)
        if place.doubtful and self._learned and len(may_be := self._candidates(channel, method)) == 1:
            place = self._only(may_be)
        if place.channel is not None and not place.doubtful:
            self.arrived(channel, place.channel, method)
        return place

    def may_be_for(self, channel: int, method: Any) -> bool:
        """Say whether something doubtful may have been meant for another channel than it came on."""
        return channel in self._meant(method)

    def is_missed(self, channel: int, method: Any) -> bool:
        """Say whether any other channel may still be meant by what came on this one."""
        return bool(self._candidates(channel, method))

    def arrived(self, on: int, channel: int, method: Any) -> None:
        """Take note of a method for a channel; who has been seen to confuse them is believed to do so."""
        self._learned |= on != channel
        self._settle(channel, method)

    def _candidates(self, channel: int, method: Any) -> set[int]:
        return self._meant(method) - {channel}

    def _meant(self, method: Any) -> set[int]:
        """Give the channels that wait for a method, or that have said what an exception blames."""
        if isinstance(method, Channel.Close):
            blamed = self._blamed(method) & self._open
            return blamed & self._asking or blamed
        return self._waiting(method)

    def _place(self, channel: int, method: Any) -> Place:
        if method.full_name in ANSWERS:
            return self._of_an_answer(channel, method)
        if isinstance(method, Channel.Close):
            return self._of_a_close(channel, method)
        if isinstance(method, Basic.Deliver):
            here = channel in self._nameless or any(number == channel for number, _ in self._consumers)
            others = {number for number, tag in self._consumers if tag == method.consumer_tag}
        elif isinstance(method, Basic.Return):
            here, others = channel in self._published, self._published
        else:
            here, others = channel in self._used, self._open if channel not in self._used else set()
        if here:
            return Place(channel)
        return self._only(others) if len(others) == 1 else self._if_used(channel)

    def _of_an_answer(self, channel: int, method: Method) -> Place:
        waiting = self._waiting(method)
        if channel in waiting:
            return Place(channel)
        if (channel, method.full_name) in self._asked:
            return Place(channel, doubtful=bool(waiting))
        if len(waiting) == 1:
            return self._only(waiting)
        return Place(None) if waiting else self._if_used(channel)

    def _of_a_close(self, channel: int, close: Channel.Close) -> Place:
        """Say where an exception belongs: where something is asked, unless it blames what another said."""
        meant = self._meant(close)
        if channel in self._used:
            at_home = channel in self._asking or (channel, _blames(close)) in self._unanswered or not meant
            return Place(channel, doubtful=not at_home)
        others = meant or self._asking or self._open
        return self._only(others) if len(others) == 1 else Place(None)

    def _blamed(self, close: Channel.Close) -> set[int]:
        return {number for number, said in self._said_there if said == _blames(close)}

    @property
    def _asking(self) -> set[int]:
        return {each.channel for each in self._awaited}

    def _only(self, channels: set[int]) -> Place:
        (channel,) = channels
        return Place(channel)

    def _if_used(self, channel: int) -> Place:
        return Place(channel if channel in self._used else None)

    def _waiting(self, method: Method) -> set[int]:
        return {each.channel for each in self._awaited if method.full_name in each.answers}

    def _settle(self, channel: int, method: Any) -> None:
        if isinstance(method, Channel.Close | Channel.CloseOk):
            self._end(channel, method)
            return
        if isinstance(method, Basic.ConsumeOk):
            self._consumers.add((channel, method.consumer_tag))
        for each in self._awaited:
            if each.channel == channel and method.full_name in each.answers:
                self._awaited.remove(each)
                return

    def _end(self, channel: int, method: Method) -> None:
        kept = OPENED if isinstance(method, Channel.CloseOk) else OPENED | CLOSED
        self._awaited = [each for each in self._awaited if each.channel != channel or each.answers & kept]
        if not any(each.channel == channel and each.answers & OPENED for each in self._awaited):
            self._open.discard(channel)


OPENED, CLOSED = answers_to(Channel.Open), answers_to(Channel.Close)


def _blames(close: Channel.Close) -> bytes:
    return close.class_id.to_bytes(2) + close.method_id.to_bytes(2)


def _is_asking(frame: Frame) -> bool:
    try:
        method = frame.method()
    except DecodeError:
        return False
    return not getattr(method, "no_wait", False)
