"""Our own client's side of a connection but its sessions: opening, closing, idle time (2.2-2.4).

It acts only while somebody waits (`until`, `live`): then it takes what comes, answers what is to be answered,
and lets happen what is due.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.amqp1_0.library.refusals import Fault, ended_by, error_of, local
from harness.amqp1_0.library.resuming import Key
from harness.amqp1_0.peer.events import EmptyFrame, Invalid, Undecodable, Undefined
from harness.amqp1_0.peer.policy import DEFAULT
from harness.amqp1_0.peer.reading import read_body, read_garbage
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import (
    AMQP,
    MIN_MAX_FRAME_SIZE,
    PROTOCOL_HEADER,
    SASL,
    SASL_HEADER,
    Frame,
    FrameReader,
    Unit,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Close,
    ConnectionError_,
    Open,
    SaslChallenge,
    SaslCode,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from harness.shims.contract import Kind, Refused
from harness.wire.sasl import mechanism
from harness.wire.transport import End, HalfClosing, Transport
from harness.wire.units import Garbage, Header

CLOSING = 3.0
"""Seconds that the server's close is waited for behind one of ours."""
SHORTEST = 0.01
"""Seconds: an idle time-out shorter than this we cannot keep."""
LATE = 4
"""Times that after which something is to be said: twice what the server requires, its threshold (2.4.5)."""
CHANNELS = 255
"""The highest channel that we accept."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a connection is to be: who we are, and what we state in our open; `idle` is in milliseconds."""

    container: str
    hostname: str | None = None
    user: str = "guest"
    password: str = "guest"
    mechanism: str = ""
    frame_max: int = 65536
    channel_max: int = CHANNELS
    idle: int | None = None


class Stream(ABC):
    """A connection; `theirs` is the server's open, `gone` why nothing can be done on it any more."""

    def __init__(
        self, transport: Transport, wanted: Wanted, within: float, on: str, tell: Callable[..., None]
    ) -> None:
        self.transport = transport
        self.on = on
        self.wanted = wanted
        self.within = within
        self.tell = tell
        self.theirs: Open | None = None
        self.gone: Refused | None = None
        self.redirected: Mapping[Any, Any] = {}
        self.in_error: set[Key] = set()
        """Links that the server has detached because of an error, and not closed."""
        self.termini: dict[Key, Any] = {}
        """Links between our container and the server's that are detached and not closed."""
        self._reader = FrameReader(limit=max(wanted.frame_max, MIN_MAX_FRAME_SIZE))
        self._takes: Callable[[Unit], None] = self._take_answer
        self._answer: Unit | None = None
        self._early: list[Unit] = []
        """What has come behind the server's header before we have opened."""
        self._heard_sasl: list[Composite | None] = []
        self._said_close = self._heard_close = False
        self._over = False
        self._sent_at = self._heard_at = transport.now()
        self._give_up_at: float | None = None

    # -- letting time pass -----------------------------------------------------------------------------

    def until(self, holds: Callable[[], Any], *places: Any) -> Any:
        """Wait until something holds, and give it. Raises Refused where the connection or a place ends."""
        deadline = self.transport.now() + self.within
        while not (found := holds()):
            for place in (self, *places):
                if place.gone is not None:
                    raise place.gone
            if not self._pump(deadline):
                if found := holds():
                    break
                raise Refused(Kind.TIMEOUT, f"no answer within {self.within:g} s")
        return found

    def live(self, seconds: float, enough: Callable[[], bool]) -> None:
        """Take what comes for so many seconds, until there is enough, or up to the end."""
        deadline = self.transport.now() + seconds
        while not enough() and not self._over and self._pump(deadline):
            pass

    def _pump(self, deadline: float) -> bool:
        """Take what comes, and let happen what is due; False when the deadline has passed, or all is over."""
        if self._over:
            return False
        came = self.transport.receive(min([deadline, *self._due()]))
        if isinstance(came, End):
            self._lose()
        elif came is not None:
            for _, unit in self._reader.feed(came):
                self._heard_at = self.transport.now()
                if not self._over:
                    self._takes(unit)
        self._tick()
        return self.transport.now() < deadline or came is not None

    def _due(self) -> list[float]:
        """List when something is due by itself."""
        times = [] if self._give_up_at is None else [self._give_up_at]
        if self._said_close or self.theirs is None:
            return times
        if every := self._beat():
            times.append(self._sent_at + every)
        if threshold := self._threshold():
            times.append(self._heard_at + threshold)
        return times

    def _tick(self) -> None:
        now = self.transport.now()
        if self._give_up_at is not None and now >= self._give_up_at:
            self.end()
        if self._said_close or self.theirs is None:
            return
        if (every := self._beat()) and now >= self._sent_at + LATE * every:
            self.refuse(Fault(AmqpError.RESOURCE_LIMIT_EXCEEDED, "nothing was sent for too long"))
        elif every and now >= self._sent_at + every:
            self._write(empty_frame())
        if (threshold := self._threshold()) and now >= self._heard_at + threshold:
            self.refuse(Fault(AmqpError.RESOURCE_LIMIT_EXCEEDED, "nothing came for too long"))

    def _beat(self) -> float:
        """Give the seconds after which something is to be said: half of what the server requires."""
        return (self.theirs.idle_time_out or 0) / 2000 if self.theirs is not None else 0.0

    def _threshold(self) -> float:
        """Give the seconds of silence that we bear: twice what our open states (2.4.5)."""
        return 2 * (self.wanted.idle or 0) / 1000

    # -- saying ----------------------------------------------------------------------------------------

    @property
    def largest(self) -> int:
        """Octets of the largest frame that we may send now."""
        return (
            MIN_MAX_FRAME_SIZE if self.theirs is None else max(self.theirs.max_frame_size, MIN_MAX_FRAME_SIZE)
        )

    def say(self, performative: Composite, channel: int = 0, payload: bytes = b"") -> None:
        """Say something, unless we have closed. Raises Refused for what is larger than the server takes."""
        if self._said_close or self._over:
            return
        frame = amqp_frame(channel, performative, payload)
        if len(frame.body) + 8 > self.largest:
            told = f"{performative.type_name} takes more than {self.largest} octets"
            raise local(told)
        self._said_close = isinstance(performative, Close)
        self._write(frame)

    def _write(self, what: Frame | bytes) -> None:
        self.transport.send(what if isinstance(what, bytes) else what.encode())
        self._sent_at = self.transport.now()

    def refuse(self, fault: Fault) -> None:
        """Close because of an error of the server's; what comes until its close is discarded (2.4.6)."""
        if self._said_close:
            return
        self.say(Close(fault.error))
        self._give_up_at = self.transport.now() + CLOSING
        self.gone = self.gone or fault.ends("connection")
        self.tell(event="closed", on=self.on, level="connection", condition=fault.condition, text=fault.why)

    def end(self) -> None:
        """Close the socket."""
        if not self._over:
            self._over = True
            self._give_up_at = None
            self.gone = self.gone or Refused(Kind.LOST, "the connection is over")
            self.transport.close()

    def leave(self) -> None:
        """Wait for the server's close behind one of ours, but not for ever, and close the socket."""
        if self._said_close:
            self.live(CLOSING, lambda: False)
        self.end()

    def _lose(self) -> None:
        if not (self._said_close or self._heard_close or self.gone):
            self.gone = Refused(Kind.LOST, "the stream ended without a close")
            self.tell(event="lost", on=self.on)
        self.end()

    # -- opening ---------------------------------------------------------------------------------------

    def open(self) -> None:
        """Go through SASL, exchange headers and opens. Raises Refused."""
        if self.wanted.mechanism != "none":
            self._authenticate()
        self._exchange(PROTOCOL_HEADER)
        wanted = self.wanted
        ours = Open(
            wanted.container,
            wanted.hostname,
            wanted.frame_max,
            wanted.channel_max,
            wanted.idle,
            properties={"product": "amqp-conformance"},
        )
        try:
            self.say(ours)
        except Refused:
            self.end()
            raise
        self._takes = self._take_frame
        while self._early and not self._over:
            self._takes(self._early.pop(0))
        self.until(lambda: self.theirs)

    def _exchange(self, header: bytes) -> None:
        """Exchange protocol headers; the server's may have come before ours. Raises Refused."""
        self._write(header)
        answer = self.until(lambda: self._answer)
        self._answer = None
        if answer != Header(header):
            self._leave_mismatch()
            raise local("the server speaks another protocol")

    def _leave_mismatch(self) -> None:
        """End our stream, and read on until the server ends its own (2.2)."""
        self._said_close = True
        if isinstance(self.transport, HalfClosing):
            self.transport.shut()
        self.leave()

    def _take_answer(self, unit: Unit) -> None:
        """Take what answers a header; it says what is due behind it."""
        self._answer = unit
        due = {SASL_HEADER: self._take_sasl, PROTOCOL_HEADER: self._early.append}
        self._takes = due.get(unit.octets, _ignore) if isinstance(unit, Header) else _ignore

    def _authenticate(self) -> None:
        self._exchange(SASL_HEADER)
        offered = self._hear_sasl(SaslMechanisms)
        names = [str(each) for each in offered.sasl_server_mechanisms]
        wanted = self.wanted.mechanism or ("PLAIN" if "PLAIN" in names else "ANONYMOUS")
        if wanted not in names:
            self.end()
            raise local(f"the server offers {', '.join(names) or 'no mechanism'}, not {wanted}")
        response = mechanism(wanted).response(self.wanted.user, self.wanted.password)
        self._write(sasl_frame(SaslInit(wanted, response, self.wanted.hostname)))
        while isinstance(said := self._hear_sasl(SaslChallenge, SaslOutcome), SaslChallenge):
            self._write(sasl_frame(SaslResponse(response)))
        if said.code != SaslCode.OK:
            self.end()
            raise Refused(
                Kind.CLOSED, f"the server refuses the log-in, with code {said.code}", "", "connection"
            )

    def _hear_sasl(self, *kinds: type[Composite]) -> Any:
        self.until(lambda: self._heard_sasl)
        found = self._heard_sasl.pop(0)
        if not isinstance(found, kinds):
            self.end()
            raise local("something else came than SASL has due")
        return found

    def _take_sasl(self, unit: Unit) -> None:
        said = None
        if isinstance(unit, Frame) and unit.type == SASL:
            said, _ = read_body(unit.body, SASL, DEFAULT)
        self._heard_sasl.append(said if isinstance(said, Composite) else None)
        if isinstance(said, SaslOutcome):
            self._takes = self._take_answer

    # -- what comes ------------------------------------------------------------------------------------

    def _take_frame(self, unit: Unit) -> None:
        if self._said_close and not _is_close(unit):
            return
        if isinstance(unit, Garbage):
            self.refuse(Fault(ConnectionError_.FRAMING_ERROR, read_garbage(unit).why))
        elif isinstance(unit, Header):
            self.refuse(Fault(ConnectionError_.FRAMING_ERROR, "a protocol header where a frame is due"))
        elif unit.type != AMQP:
            self.refuse(Fault(ConnectionError_.FRAMING_ERROR, f"a frame of type {unit.type}"))
        elif unit.channel > self.wanted.channel_max:
            self.refuse(Fault(ConnectionError_.FRAMING_ERROR, f"channel {unit.channel} is above ours"))
        else:
            self._take_body(unit)

    def _take_body(self, frame: Frame) -> None:
        event, payload = read_body(frame.body, AMQP, DEFAULT)
        match event:
            case EmptyFrame() if self.theirs is not None:
                pass
            case Undecodable(why=why):
                self.refuse(Fault(AmqpError.DECODE_ERROR, why))
            case Undefined(why=why):
                self.refuse(Fault(AmqpError.NOT_IMPLEMENTED, why))
            case Invalid(why=why):
                self.refuse(Fault(AmqpError.INVALID_FIELD, why))
            case Open() if self.theirs is None:
                self._take_open(event, frame.channel)
            case Close():
                self._take_close(event)
            case Composite() if self.theirs is not None and not isinstance(event, Open):
                self._take_on_session(event, payload, frame.channel)
            case _:
                self.refuse(Fault(AmqpError.ILLEGAL_STATE, "a frame that is not due now"))

    def _take_open(self, theirs: Open, channel: int) -> None:
        idle = theirs.idle_time_out or 0
        if channel:
            self.refuse(Fault(ConnectionError_.FRAMING_ERROR, f"an open on channel {channel}"))
        elif theirs.max_frame_size < MIN_MAX_FRAME_SIZE:
            self.refuse(Fault(AmqpError.INVALID_FIELD, f"a max-frame-size of {theirs.max_frame_size}"))
        elif idle and idle / 1000 < SHORTEST:
            self.refuse(Fault(AmqpError.NOT_IMPLEMENTED, f"an idle-time-out of {idle} ms"))
        else:
            self.theirs = theirs

    def _take_close(self, said: Close) -> None:
        self._heard_close = True
        if not self._said_close:
            error = error_of(said)
            if error is not None and error.condition == ConnectionError_.REDIRECT:
                self.redirected = error.info or {}
            ended = ended_by("connection", said)
            self.gone = self.gone or ended
            self.tell(event="closed", on=self.on, level="connection", condition=ended.code, text=ended.text)
            self.say(Close())
        self.end()

    @abstractmethod
    def _take_on_session(self, said: Composite, payload: bytes, channel: int) -> None:
        """Take what has come on a channel."""

    @abstractmethod
    def forget(self, ours: int, theirs: int | None) -> None:
        """Free both channels of a session that is over."""

    def close(self) -> None:
        """Close, and wait for the server's close, but not for ever. Raises Refused."""
        if self.gone is not None and self._over:
            return
        self.say(Close())
        self._give_up_at = self.transport.now() + CLOSING
        self.live(self.within, lambda: self._over)
        heard = self._heard_close
        self.end()
        if not heard:
            raise Refused(Kind.TIMEOUT, "the server did not answer our close")


def _ignore(_: Unit) -> None:
    """Take no notice: it is of another protocol."""


def _is_close(unit: Unit) -> bool:
    if not isinstance(unit, Frame) or unit.type != AMQP:
        return False
    return isinstance(read_body(unit.body, AMQP, DEFAULT)[0], Close)
