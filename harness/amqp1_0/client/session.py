"""Sessions: begin and end, windows, what comes on them; links are attached to them (2.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from harness.amqp1_0.client.endpoints import AttachedLink, Receiver, Sender
from harness.amqp1_0.client.link import Link, Said
from harness.amqp1_0.client.outcomes import (
    Observation,
    Received,
    condition_of,
    describe,
    ended_well,
    signature,
)
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.amqp1_0.wire.types import Symbol
from harness.play.context import Context
from harness.play.expect import ControlFailed, Inapplicable, Inconclusive, Outcome, Stop
from harness.play.link import Closed, Silence

WINDOW = 2048
"""Frames of transfers that our sessions take in and send out."""
AT_ANY_TIME = (Flow, Disposition)
"""What may come on a session whenever the server likes, several in one."""
AnyLink = TypeVar("AnyLink", bound=AttachedLink)


def the_begin(**fields: Any) -> Begin:
    """Give a begin as any server takes it, altered as given."""
    return Begin(None, 0, WINDOW, WINDOW).replace(**fields)


def sound(what: str, answer: Any) -> Any:
    """Give the answer to a control, whose fields are used then. Raises ControlFailed if they cannot be."""
    if not answer.is_as_defined():
        raise ControlFailed(what, f"{describe(answer)} that is not as defined")
    return answer


class Carrier(Protocol):
    """The connection that a session is on, as far as the session needs it."""

    link: Link
    context: Context
    container_id: str

    def send(self, *what: Said, channel: int = 0) -> None:
        """Send on a channel, in a single write."""

    def failed(self, what: str, seen: Observation) -> Stop:
        """Give the Stop that says `what` was answered otherwise, or not."""

    def judge(self, expected: str, otherwise: str, holds: bool) -> None:
        """Judge a fact read out of an answer. Raises Unmet."""

    def works(self, expected: str) -> AbstractContextManager[None]:
        """Judge that what is done inside works. Raises Unmet."""


class Session:
    """A session, begun: `channel` is ours, `begun` our begin and `partner` the server's.

    `next_outgoing_id` is the transfer-id of our next transfer, `next_delivery_id` the delivery-id of our next
    delivery, `seen` what has come as defined and been looked at. What may come at any time `expect` and
    `control` pass over where they are not asked for it.
    """

    def __init__(self, connection: Carrier, channel: int, begun: Begin, partner: Begin) -> None:
        self.connection = connection
        self.channel = channel
        self.begun = begun
        self.partner = partner
        self.next_outgoing_id = Serial(begun.next_outgoing_id)
        self.next_delivery_id = Serial(0)
        self._handles = 0
        self.seen: list[Received] = []

    # -- what is known ---------------------------------------------------------------------------------

    def told(self, *kinds: type[Composite]) -> list[Any]:
        """Give all performatives of these kinds that have come on the session, looked at or not."""
        came = (each.performative for each in self.connection.link.told[self.channel])
        return [each for each in came if isinstance(each, kinds)]

    @property
    def next_incoming_id(self) -> Serial:
        """The transfer-id of the server's next transfer, by what has come (2.5.6)."""
        return Serial(self.partner.next_outgoing_id) + len(self.told(Transfer))

    @property
    def window(self) -> int:
        """How many transfers the server is ready to take now, by what it has said last (2.5.6)."""
        expected, window = self.begun.next_outgoing_id, self.partner.incoming_window
        for flow in self.told(Flow):
            if flow.next_incoming_id is not None:
                expected, window = flow.next_incoming_id, flow.incoming_window
        return (Serial(expected) - self.next_outgoing_id) + int(window)

    @property
    def incoming_channel(self) -> int:
        """The channel on which the server's end of the session is (2.5.1)."""
        return self.connection.link.told[self.channel][0].channel

    def flow(self, **fields: Any) -> Flow:
        """Give a flow that states our end of the session, altered as given."""
        return Flow(self.next_incoming_id, WINDOW, self.next_outgoing_id, WINDOW).replace(**fields)

    # -- sending and judging ---------------------------------------------------------------------------

    def send(self, *what: Said) -> None:
        """Send performatives on this session, in a single write."""
        self.connection.send(*what, channel=self.channel)

    def expect(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge what comes next on this session or for the whole connection. Raises Unmet."""
        link, patience = self.connection.link, self.connection.context.patience
        legal = link.legal(*outcomes)
        slow = any(each.waits_for_end for each in legal)
        asked = tuple(kind for each in legal for kind in each.about)
        began = link.now()
        seen = self._next(asked, patience.close if slow else patience.answer)
        return _performative(link.hold(seen, legal, began))

    def tries(self, what: Said, *outcomes: Outcome | type[Composite]) -> Any:
        """Send something and judge what comes next, as `expect` does. Raises Unmet."""
        self.send(what)
        return self.expect(*outcomes)

    def ends_well(self, *others: Outcome) -> Any:
        """Judge that the session has gone on: our end is answered by one without error. Raises Unmet."""
        return self.tries(End(), ended_well(), *others)

    def goes_on(self, address: str, *others: Outcome) -> Any:
        """Judge that the session goes on: the next that comes answers an attach. Raises Unmet."""
        self.send(self.the_attach(Role.RECEIVER, source=Source(address), target=Target()))
        return self.expect(Attach, *others)

    def judge(self, expected: str, otherwise: str, holds: bool) -> None:
        """Judge a fact read out of an answer: `otherwise` is what it is if it does not hold. Raises Unmet."""
        self.connection.judge(expected, otherwise, holds)

    def works(self, expected: str) -> AbstractContextManager[None]:
        """Judge that what is done inside works, as that of the connection does. Raises Unmet."""
        return self.connection.works(expected)

    def stays(self, expected: str, *kinds: type[Composite]) -> None:
        """Judge that nothing of these kinds comes for a moment (`Patience.quiet`). Raises Unmet."""
        seen = self._next(kinds, self.connection.context.patience.quiet)
        self.judge(expected, signature(seen), isinstance(seen, Silence))

    def _next(self, asked: tuple[type, ...], patience: float) -> Observation:
        """Take the next observation but those that may come at any time and are not asked for."""
        passed = tuple(kind for kind in AT_ANY_TIME if kind not in asked)
        while True:
            seen = self._taken(patience)
            if not (isinstance(seen, Received) and isinstance(seen.performative, passed)):
                return seen

    def _taken(self, patience: float) -> Observation:
        seen = self.connection.link.next(self.channel, patience)
        ours = isinstance(seen, Received) and seen.session == self.channel
        if ours and isinstance(seen, Received) and seen.performative.is_as_defined():
            self.seen.append(seen)
        return seen

    # -- controls --------------------------------------------------------------------------------------

    def ask(self, performative: Composite, *answers: type[Composite]) -> Any:
        """Send a performative; the next of this session must be one of these. Raises ControlFailed."""
        self.send(performative)
        return self.control(describe(performative), *answers)

    def control(self, what: str, *kinds: type[Composite]) -> Any:
        """Take the next performative of this session, which must be one of these. Raises ControlFailed."""
        seen = self._next(kinds, self.connection.context.due(what, self.connection.context.patience.close))
        if isinstance(seen, Received) and isinstance(seen.performative, kinds):
            return sound(what, seen.performative)
        raise self.connection.failed(what, seen)

    def until(self, what: str, holds: Callable[[], Any]) -> Any:
        """Wait until something holds of what has come; take in flows behind it. Raises ControlFailed."""
        context = self.connection.context
        while not (found := holds()):
            seen = self._taken(context.due(what, context.patience.close))
            final = isinstance(seen, Received) and isinstance(seen.performative, (End, Detach))
            if final or isinstance(seen, Closed | Silence) or not isinstance(seen, Received):
                raise self.connection.failed(what, seen)
        while self._more_at_any_time() and isinstance(self._taken(0.0), Received):
            pass
        return found

    def take_in(self, holds: Callable[[], Any], moments: int = 0) -> None:
        """Take all that comes; wait for more as for an answer until something holds, then a moment.

        Where nothing need come `moments` says how many of these are waited for it instead.
        """
        patience = self.connection.context.patience
        most = moments * patience.quiet or patience.close
        while isinstance(self._taken(patience.quiet if holds() else most), Received):
            pass

    def _more_at_any_time(self) -> bool:
        """Say whether the first that has come and was not looked at may come at any time."""
        last = self.seen[-1].frame if self.seen else 0
        unseen = (each for each in self.connection.link.told[self.channel] if each.frame > last)
        # The begin was taken before there was a session to look at it.
        first = next((each for each in unseen if not isinstance(each.performative, Begin)), None)
        return first is not None and isinstance(first.performative, AT_ANY_TIME)

    def the_attach(self, role: bool, **fields: Any) -> Attach:
        """Give an attach with a name of its own on a handle that had no link, altered as given."""
        handle = self._handles
        self._handles += 1
        name = f"{self.connection.container_id}-{self.channel}-{handle}"
        count = 0 if role is Role.SENDER else None
        return Attach(name, handle, role, initial_delivery_count=count).replace(**fields)

    def receiver(self, address: str, **fields: Any) -> Receiver:
        """Attach a link on which we receive from an address. Raises ControlFailed."""
        given = {"source": Source(address), "target": Target()} | fields
        return self._attach(Receiver, Role.RECEIVER, **given)

    def sender(self, address: str, **fields: Any) -> Sender:
        """Attach a link on which we send to an address. Raises ControlFailed."""
        return self._attach(Sender, Role.SENDER, source=Source(), target=Target(address), **fields)

    def _attach(self, kind: type[AnyLink], role: bool, **fields: Any) -> AnyLink:
        ours = self.the_attach(role, **fields)
        answer = self.ask(ours, Attach)
        if _far_end(answer) is None:
            # It says by this that it has no such terminus, and why in the detach that follows.
            raise ControlFailed("attach", describe(self.control("attach", Detach)))
        return kind(self, ours, answer)

    def resume(
        self,
        link: AnyLink,
        unsettled: Mapping[bytes, Any],
        absent: tuple[Symbol, ...] = (AmqpError.NOT_IMPLEMENTED,),
        **fields: Any,
    ) -> AnyLink:
        """Attach a suspended link with what we have unsettled on it, also on another session than it was.

        Raises Inapplicable where that is refused with a condition of `absent`, ControlFailed where it is
        refused otherwise.
        """
        ours = link.attach.replace(unsettled=unsettled, **fields)
        self.send(ours)
        answer = self.control("an attach that resumes", Attach, Detach, End, Close)
        if isinstance(answer, Attach) and _far_end(answer) is None:
            answer = self.control("an attach that resumes", Detach, End, Close)
        if isinstance(answer, Attach):
            return type(link)(self, ours, answer)
        if condition_of(answer) in absent:
            told = condition_of(answer)
            raise Inapplicable(f"the target refuses to resume links with unsettled deliveries: {told}")
        raise ControlFailed("an attach that resumes", describe(answer))

    def stated(self, address: str) -> Flow:
        """Attach another sender; give the flow with its credit, which states all. Raises ControlFailed."""
        flow: Flow = self.sender(address).granted().told(Flow)[-1]
        return flow

    def probe(self, performative: Composite, kinds: tuple[type[Composite], ...], reading: str) -> Composite:
        """Send what one of these is to answer; `reading` says what it means if not. Raises Inconclusive."""
        self.send(performative)
        seen = self._next(kinds, self.connection.context.patience.close)
        if isinstance(seen, Received) and isinstance(seen.performative, kinds):
            return seen.performative
        raise Inconclusive(f"{reading}: {signature(seen)}")

    def fence(self, address: str) -> None:
        """Wait until everything sent on this session has been taken in. Raises ControlFailed."""
        self.receiver(address).detach()

    def end(self) -> None:
        """End the session by ends; what comes before is passed over. Raises ControlFailed."""
        self.send(End())
        while not isinstance(self.control("end", Attach, Detach, Disposition, End, Flow, Transfer), End):
            pass


def _far_end(answer: Attach) -> Any:
    """Give the server's own terminus by its attach."""
    return answer.source if answer.role is Role.SENDER else answer.target


def _performative(seen: Observation) -> Any:
    return seen.performative if isinstance(seen, Received) else seen
