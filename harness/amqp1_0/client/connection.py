"""Connections as a scenario uses them.

Methods come in two kinds. *Controls* (`open`, `begin`, `ask`, …) do what must work for a rule to be judged at
all; when they fail the scenario ends as an error of its set-up. `expect` and `stays_quiet` judge the rule.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, Self

from harness.amqp1_0.client import leniency, sasl
from harness.amqp1_0.client.link import CONNECTION, WHOLE, Link, Said
from harness.amqp1_0.client.outcomes import (
    HeaderReceived,
    Observation,
    Received,
    begun,
    describe,
    header_name,
    signature,
)
from harness.amqp1_0.client.session import Session, sound, the_begin
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, SASL_HEADER, Frame
from harness.amqp1_0.wire.performatives import (
    Begin,
    Close,
    End,
    Open,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
)
from harness.play.context import Context
from harness.play.expect import ControlFailed, Inconclusive, NotRun, Outcome, Stop
from harness.play.link import Closed, Silence
from harness.targets.target import Endpoint
from harness.wire.journal import Direction
from harness.wire.units import DecodeError, Garbage, Header

HEADER = "the protocol header"
"""What the control of a header is called."""


class OtherHeader(ControlFailed):
    """The server answered our protocol header with another one."""

    def __init__(self, header: Header) -> None:
        super().__init__(HEADER, header_name(header))
        self.header = header


class AmqpConnection:
    """A connection: its headers and layers one by one, then frames of any kind."""

    def __init__(self, link: Link, context: Context, endpoint: Endpoint, container_id: str) -> None:
        self.link = link
        self.context = context
        self.endpoint = endpoint
        self.container_id = container_id
        self._behind = 0
        self._dropped = False

    @property
    def partner(self) -> Open:
        """The server's open. Raises ControlFailed when none has come."""
        if self.link.partner is None:
            raise ControlFailed("an open", "no open so far")
        return self.link.partner

    # -- sending and judging ---------------------------------------------------------------------------

    def send(self, *what: Said, channel: int = 0, by: int = 0) -> None:
        """Send performatives (on `channel`), frames, octets in one write, or `by` so many octets."""
        self.link.send(*what, channel=channel, by=by)

    def shut(self) -> None:
        """End our stream and go on reading. Raises NotRun where the transport cannot."""
        self.link.shut()

    def met_reset(self) -> bool:
        """Say whether what we sent behind the end of the server's stream met a reset."""
        return self.link.met_reset(self.context.patience.quiet)

    def expect(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge what comes next but empty frames and flows, and return its performative. Raises Unmet."""
        return _performative(self.link.expect(CONNECTION, *outcomes))

    def expect_each(self, *outcomes: Outcome | type[Composite]) -> None:
        """Judge what comes next, each by one of the outcomes in this order. Raises Unmet."""
        for outcome in outcomes:
            self.expect(outcome)

    def tries(self, what: Said, *outcomes: Outcome | type[Composite], channel: int = 0) -> Any:
        """Send something and judge what comes next, as `expect` does. Raises Unmet."""
        self.send(what, channel=channel)
        return self.expect(*outcomes)

    def expect_of_all(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge as `expect` does what concerns the whole connection; sessions' frames are passed over."""
        return _performative(self.link.expect(WHOLE, *outcomes))

    def refuses(self, *outcomes: Outcome) -> Any:
        """Judge as `gives_up` does; the server's open, sent first (2.4.1), is passed over. Raises Unmet."""
        patience, began = self.context.patience, self.link.now()
        seen = self.link.next(CONNECTION, patience.close)
        if isinstance(seen, Received) and isinstance(seen.performative, Open):
            return self.gives_up(*outcomes)
        return _performative(self.link.hold(seen, outcomes, began))

    def gives_up(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge that this ends the connection, seen by a begin behind if need be. Raises Unmet."""
        began = self.link.now()
        seen = self.link.next(CONNECTION, self.context.patience.quiet)
        if not isinstance(seen, Silence):
            return _performative(self.link.hold(seen, self.link.legal(*outcomes), began))
        # Sent at once it could meet a socket already closed, and a reset may destroy what was said before.
        return self._behind_fence(self._fence(), *outcomes)

    def gives_up_on(self, what: Said, *outcomes: Outcome | type[Composite], channel: int = 0) -> Any:
        """Send something and judge as `gives_up` does. Raises Unmet."""
        self.send(what, channel=channel)
        return self.gives_up(*outcomes)

    def turns_down(self, what: Said, *outcomes: Outcome, channel: int = 0) -> Any:
        """Send something and judge as `refuses` does. Raises Unmet."""
        self.send(what, channel=channel)
        return self.refuses(*outcomes)

    def goes_on(self, *others: Outcome) -> Any:
        """Judge that the next that comes answers a begin; `others` are legal beside. Raises Unmet."""
        number = self._fence()
        return self._behind_fence(number, begun(number), *others)

    def _behind_fence(self, number: int, *outcomes: Outcome | type[Composite]) -> Any:
        seen = self.link.expect(CONNECTION, *outcomes)
        if isinstance(seen, Received) and isinstance(seen.performative, Begin):
            self.send(End(), channel=number)
            self.control("end", End, place=number)
        return _performative(seen)

    def stays_quiet(self) -> None:
        """Judge that nothing has come: the begin that answers a later one must be the first. Raises Unmet."""
        self.goes_on()

    def got_nothing(self) -> None:
        """Judge that nothing has come up to now, where no fence can be sent any more. Raises Unmet."""
        seen = self.link.next(CONNECTION, 0.0)
        self.judge("nothing more", signature(seen), isinstance(seen, Silence | Closed))

    def nothing_more(self) -> None:
        """Judge that nothing more comes up to the end of the stream, else for a moment. Raises Unmet."""
        seen = self.link.next(CONNECTION, self.context.patience.quiet)
        self.judge("nothing more", signature(seen), isinstance(seen, Silence | Closed))

    def nothing_behind_the_close(self, seconds: float = 0.0) -> None:
        """Judge that nothing comes behind the server's close in so many seconds. Raises Unmet."""
        self.link.listen(max(seconds, self.context.patience.quiet))
        behind = self.link.behind_close()
        self.judge("nothing behind the close", f"{behind} behind the close", not behind)

    def within(self, seconds: float, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge as `expect` does what may take so many seconds. Raises Unmet."""
        began = self.link.now()
        seen = self.link.next(CONNECTION, seconds)
        return _performative(self.link.hold(seen, self.link.legal(*outcomes), began))

    def judge(self, expected: str, otherwise: str, holds: bool) -> None:
        """Judge a fact read out of an answer: `otherwise` is what it is if it does not hold. Raises Unmet."""
        self.link.judged(expected, otherwise, holds)

    @contextmanager
    def works(self, expected: str) -> Iterator[None]:
        """Judge that what is done inside works: a control that fails there decides. Raises Unmet."""
        otherwise = ""
        try:
            yield
        except ControlFailed as failure:
            otherwise = failure.actual
        self.judge(expected, otherwise, not otherwise)

    # -- controls --------------------------------------------------------------------------------------

    def control(self, what: str, *kinds: type[Composite], place: int = CONNECTION) -> Any:
        """Take the next performative, which must be one of these. Raises ControlFailed."""
        seen = self.link.next(place, self.context.due(what, self.context.patience.close))
        if isinstance(seen, Received) and isinstance(seen.performative, kinds):
            return seen.performative
        raise self.failed(what, seen)

    def failed(self, what: str, seen: Observation) -> Stop:
        """Give the Stop that says `what` was answered otherwise, or not, as was found out before."""
        return self.link.failed(what, seen)

    def ask(self, performative: Composite, *answers: type[Composite], channel: int = 0) -> Any:
        """Send a performative; the next one that comes must be one of these. Raises ControlFailed."""
        self.send(performative, channel=channel)
        return self.control(describe(performative), *answers)

    def exchange_headers(self, octets: bytes = PROTOCOL_HEADER) -> None:
        """Send a protocol header, which must come back. Raises OtherHeader, ControlFailed."""
        self.send(octets)
        due = self.context.due(HEADER, self.context.patience.close)
        seen = self.link.next(CONNECTION, due)
        if not isinstance(seen, HeaderReceived):
            raise self.failed(HEADER, seen)
        self.take_header(seen.header, octets)

    def take_header(self, header: Header, ours: bytes) -> None:
        """Go on where a header in answer to `ours` is the same, or nearly. Raises OtherHeader."""
        if header.octets == ours:
            return
        if not leniency.is_nearly(header, ours):
            raise OtherHeader(header)
        told = (leniency.ANOTHER_HEADER, header_name(header))
        self.context.breach(*told, self.link.name, self.link.now())

    def mechanisms(self) -> SaslMechanisms:
        """Open the layer of SASL; give what the server offers. Raises OtherHeader, ControlFailed."""
        self.exchange_headers(SASL_HEADER)
        offered: SaslMechanisms = self.control("sasl-mechanisms", SaslMechanisms)
        return offered

    def init(self, **changes: Any) -> SaslInit:
        """Give a sasl-init with good credentials, altered as given."""
        return sasl.init(self.endpoint, **changes)

    def authenticate(self, init: SaslInit | None = None) -> None:
        """Say who we are, and answer challenges until let in. Raises ControlFailed."""
        said = init or self.init()
        self.send(said)
        for _ in range(sasl.MOST_CHALLENGES):
            answer = self.control("sasl-init", SaslOutcome, SaslChallenge)
            if isinstance(answer, SaslOutcome):
                if not sasl.accepts(answer):
                    raise ControlFailed("sasl-init", describe(answer))
                return
            self.send(sasl.response(said))
        raise ControlFailed("sasl-response", "one sasl-challenge after the other")

    def the_open(self, **fields: Any) -> Open:
        """Give an open with a container-id of its own, altered as given."""
        return Open(self.container_id).replace(**fields)

    def open(self, **fields: Any) -> Open:
        """Exchange opens; give the server's, which may have come before. Raises ControlFailed."""
        self.send(self.the_open(**fields))
        opened: Open = self.control("open", Open)
        return opened

    def begin(self, channel: int | None = None, **fields: Any) -> Session:
        """Begin a session on the lowest free channel, or on a given one. Raises ControlFailed."""
        number = self.free_channel() if channel is None else channel
        ours = the_begin(**fields)
        self.send(ours, channel=number)
        answer = sound("begin", self.control("begin", Begin, place=number))
        return Session(self, number, ours, answer)

    def fence(self) -> Self:
        """Wait until everything sent so far has been taken in; give the connection. Raises ControlFailed."""
        self.begin().end()
        return self

    def idle_time_out(self, times: float = 1.0) -> float:
        """Give the server's idle-time-out in seconds. Raises NotRun when that is too long so many `times`."""
        stated = self._stated("idle_time_out")
        if not stated:
            raise NotRun("the target states no idle-time-out of its own")
        if times * stated / 1000 > self.context.patience.budget / 2:
            raise NotRun(f"the target's idle-time-out of {stated} ms is too long to wait for")
        return stated / 1000

    def beats(self, every: float | None = None) -> None:
        """Keep alive by empty frames every so many seconds, or as often as the server wants, if at all."""
        stated = self._stated("idle_time_out")
        self.link.beat = every if every is not None else (stated / 2000 if stated else None)

    def hear_empty_frames(self) -> None:
        """Observe empty frames like any other from now on."""
        self.link.hears_empty_frames = True

    def listen(self, seconds: float) -> list[Passage]:
        """Give everything the server sends in so many seconds, empty frames too, with the time it came."""
        return self.link.listen(seconds)

    def heard(self) -> list[str]:
        """Give what the server has sent so far: kinds of frames and channels, without empty frames."""
        came = (each.unit for each in self.link.transcript if each.direction is Direction.RECEIVED)
        return [told for unit in came if (told := _told(unit))]

    def until_closed(self) -> list[str]:
        """Wait as `until_end` does; behind a close, with the stream still open, only for a moment."""
        patience = self.context.patience
        last = None
        while not isinstance(last, Closed | Silence):
            last = self.link.next(CONNECTION, patience.quiet if self.link.heard_close else patience.close)
        return self.heard()

    def until_end(self) -> list[str]:
        """Give what `heard` gives once the stream has ended or nothing more comes."""
        while not isinstance(self.link.next(CONNECTION, self.context.patience.close), Closed | Silence):
            pass
        return self.heard()

    def _stated(self, limit: str) -> int:
        """Give a limit of the server's open, zero where it states none."""
        value = getattr(self.partner, limit)
        if value is not None and not isinstance(value, int):
            raise ControlFailed("open", f"an open whose {limit.replace('_', '-')} is no number")
        return value or 0

    def channels(self, most: int) -> range:
        """Give the lowest channels that the server accepts, at most so many."""
        return range(min(self._stated("channel_max") + 1, most))

    def free_channel(self) -> int:
        """Choose the channel without a session whose last is longest ago: a server may need a moment."""
        highest = self._stated("channel_max")
        numbers = chain(range(self._behind, highest + 1), range(min(self._behind, highest + 1)))
        number = next((each for each in numbers if each not in self.link.channels), None)
        if number is None:
            raise Inconclusive(f"the server allows no channel above {highest}: none is left for a session")
        self._behind = number + 1
        return number

    def _fence(self) -> int:
        number = self.free_channel()
        self.send(the_begin(), channel=number)
        return number

    # -- leaving ---------------------------------------------------------------------------------------

    @property
    def usable(self) -> bool:
        """Whether both opens were sent, nobody has closed or hung up, and nothing malformed went out."""
        link = self.link
        opened = link.partner is not None and link.said_open is not None
        return opened and not (link.said_close or link.spoiled or self._dropped) and link.ended is None

    def close(self) -> None:
        """End the connection by closes if it is open, in any case close the socket."""
        try:
            if self.usable:
                self.send(Close())
                self._drain()
        finally:
            self.link.finish()

    def _drain(self) -> None:
        until = self.link.now() + self.context.patience.answer
        while not self.link.heard_close and (left := until - self.link.now()) > 0:
            if isinstance(self.link.next(CONNECTION, left), Closed | Silence):
                return

    def drop(self) -> None:
        """Close the socket without a word."""
        self._dropped = True
        self.link.finish()


def _performative(seen: Observation) -> Any:
    return seen.performative if isinstance(seen, Received) else seen


def _told(unit: Any) -> str:
    if isinstance(unit, Header):
        return header_name(unit)
    if isinstance(unit, Garbage):
        return "no frame"
    assert isinstance(unit, Frame)
    try:
        performative = unit.performative()
    except DecodeError:
        return f"a frame that cannot be decoded, on channel {unit.channel}"
    return f"{performative.type_name} on channel {unit.channel}" if performative else ""
