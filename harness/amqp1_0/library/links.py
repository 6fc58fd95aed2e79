"""Our own client's side of links: attaching, credit, deliveries, outcomes (2.6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from harness.amqp1_0.library.refusals import Fault, ended_by, local
from harness.amqp1_0.library.windows import Outgoing, Windows
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Detach,
    Disposition,
    Flow,
    LinkError,
    Modified,
    ReceiverSettleMode,
    Rejected,
    Released,
    Role,
    SenderSettleMode,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.shims.contract import Refused

OVERHEAD = 64
"""Octets that frame header and performative of a transfer of ours take at most."""
LONGEST_TAG = 32
OUTCOMES: Final = (Accepted, Rejected, Released, Modified)


@dataclass(slots=True, eq=False)
class Incoming:
    """A delivery of the server's; `octets` are its message once it is whole."""

    id: Serial
    tag: bytes
    settled: bool
    format: int
    unknown: bool = False
    """Whether it is resumed, though we have never heard of it."""
    octets: bytearray = field(default_factory=bytearray)


class Link(ABC):
    """A link; `theirs` is the server's attach, `handle` ours, `detached` whether both have detached it."""

    role: ClassVar[bool]

    def __init__(self, session: Windows, name: str, handle: int, address: str) -> None:
        self.session = session
        self.name = name
        self.handle = handle
        self.address = address
        self.on = ""
        self.theirs: Attach | None = None
        self.gone: Refused | None = None
        self.detached = False
        self.delivery_count = Serial(0)
        self._said_detach: Detach | None = None

    # -- attach and detach -----------------------------------------------------------------------------

    def attach(self, **fields: Any) -> None:
        """Attach it, and wait for the answer. Raises Refused."""
        if (self.name, self.role) in self.session.connection.in_error:
            fields["unsettled"] = {}  # its endpoint is destroyed: this resumes it (2.6.5)
        self._attached = fields
        self.session.say(self._ours(**fields))
        self.session.connection.until(lambda: self.theirs, self.session, self)
        if self._far_end() is None:
            # The server says by this that there is no link, and why by the detach that follows.
            self.session.connection.until(lambda: self.gone, self.session)
        if self.gone is not None:
            raise self.gone

    @abstractmethod
    def _ours(self, **fields: Any) -> Attach:
        """Give our attach."""

    @abstractmethod
    def _far_end(self) -> Any:
        """Give the server's terminus."""

    def take_attach(self, said: Attach) -> None:
        self.theirs = said
        far = self._far_end()
        if far is not None and self.address and getattr(far, "address", None) != self.address:
            self.refuse(Fault(AmqpError.INVALID_FIELD, "the server attached another address"))

    def turn_away(self, said: Attach, fault: Fault) -> None:
        """Answer an attach that we have nothing for."""
        self.theirs = said
        count = 0 if self.role is Role.SENDER else None
        self.session.say(Attach(said.name, self.handle, self.role, initial_delivery_count=count))
        self.refuse(fault)

    def detach(self, closed: bool) -> None:
        """Detach it, for good or not, and wait for the answer. Raises Refused."""
        if self.gone is not None:
            raise self.gone
        self._say_detach(Detach(self.handle, closed or None))
        self.session.connection.until(lambda: self.detached, self.session)

    def refuse(self, fault: Fault) -> None:
        """Detach because of an error of the server's (2.6.5)."""
        self._say_detach(Detach(self.handle, True, fault.error))
        self._end(fault.ends("link"))

    def _say_detach(self, said: Detach) -> None:
        self._said_detach = said
        self.session.say(said)

    def _end(self, why: Refused) -> None:
        self.gone = self.gone or why
        self.tell(event="closed", level="link", condition=why.code, text=why.text)

    def take_detach(self, said: Detach) -> None:
        answered = self._said_detach is not None
        if not answered:
            if said.error is not None and not said.closed:
                self.session.connection.in_error.add((self.name, self.role))
            self._end(ended_by("link", said))
            self._say_detach(Detach(self.handle, said.carried("closed")))
        elif said.closed and self._said_detach is not None and not self._said_detach.closed:
            self._close_too()
        self.session.drop(self)
        self.detached = True

    def _close_too(self) -> None:
        """Close what we only detached and the server has closed: reattach it first (2.6.6)."""
        self.session.say(self._ours(**self._attached))
        self.session.say(Detach(self.handle, True))

    def tell(self, **event: Any) -> None:
        if self.on:
            self.session.connection.tell(on=self.on, **event)

    # -- what comes ------------------------------------------------------------------------------------

    def flow(self, **fields: Any) -> Flow:
        """Give a flow that states session and link."""
        given = {"handle": self.handle, "delivery_count": self.delivery_count} | fields
        return self.session.flow().replace(**given)

    @abstractmethod
    def take_flow(self, said: Flow) -> None:
        """Take a flow of the link."""

    @abstractmethod
    def take_transfer(self, said: Transfer, payload: bytes) -> None:
        """Take a transfer of the link."""

    def take_settled(self, first: Serial, last: Serial, settled: bool) -> None:  # noqa: B027
        """Take what the server says of its own deliveries."""

    @property
    def in_error(self) -> bool:
        """Whether we have detached it because of an error."""
        return self._said_detach is not None and self._said_detach.error is not None

    @property
    def ending(self) -> bool:
        """Whether we have detached it."""
        return self._said_detach is not None


class Sender(Link):
    """A link on which we send."""

    role = Role.SENDER

    def __init__(self, session: Windows, name: str, handle: int, address: str) -> None:
        super().__init__(session, name, handle, address)
        self.credit = 0
        self._waiting: deque[Outgoing] = deque()
        self._tags = 0

    def _ours(self, **fields: Any) -> Attach:
        ours = Attach(self.name, self.handle, Role.SENDER, source=Source(), target=Target(self.address))
        return ours.replace(initial_delivery_count=self.delivery_count, **fields)

    def _far_end(self) -> Any:
        return self.theirs.target if self.theirs is not None else None

    def send(self, payload: bytes, settled: bool, told_later: bool) -> Outgoing:
        """Hand a message over, to be sent when there is credit. Raises Refused for one that is too large."""
        if self.gone is not None:
            raise self.gone
        largest = self.theirs.max_message_size if self.theirs is not None else None
        if largest and len(payload) > largest:
            raise local(f"the server takes no message of more than {largest} octets")
        mode = self.theirs.snd_settle_mode if self.theirs is not None else SenderSettleMode.MIXED
        settled = (settled or mode == SenderSettleMode.SETTLED) and mode != SenderSettleMode.UNSETTLED
        self._tags += 1
        delivery = Outgoing(self, self._tags.to_bytes(4), payload, settled, told_later)
        self._waiting.append(delivery)
        self._go_on()
        return delivery

    def take_flow(self, said: Flow) -> None:
        if said.link_credit is not None:
            counted = Serial(0) if said.delivery_count is None else Serial(said.delivery_count)
            self.credit = max((counted - self.delivery_count) + said.link_credit, 0)
        self._go_on()
        drained = said.drain and self.credit > 0
        if drained:
            self.delivery_count += self.credit
            self.credit = 0
        if drained or said.echo:
            self.session.say(
                self.flow(link_credit=self.credit, available=len(self._waiting), drain=said.drain)
            )

    def _go_on(self) -> None:
        while self._waiting and self.credit > 0 and not self.ending and self._far_end() is not None:
            self.credit -= 1
            self.delivery_count += 1
            self._transfer(self._waiting.popleft())
        self.session.flush()

    def _transfer(self, delivery: Outgoing) -> None:
        session = self.session
        number = session.next_delivery_id
        session.next_delivery_id += 1
        if delivery.settled:
            delivery.done = True
        else:
            session.sent[number] = delivery
        pieces = list(self._pieces(delivery.payload))
        first = Transfer(self.handle, number, delivery.tag, 0, delivery.settled or None)
        said = [first, *[Transfer(self.handle)] * (len(pieces) - 1)]
        for place, (each, piece) in enumerate(zip(said, pieces, strict=True)):
            more = place < len(pieces) - 1
            session.send(self, each.replace(more=True) if more else each, piece)

    def _pieces(self, payload: bytes) -> Iterator[bytes]:
        room = self.session.connection.largest - OVERHEAD
        return (payload[start : start + room] for start in range(0, len(payload), room))

    def take_outcome(self, delivery: Outgoing, said: Disposition) -> None:
        """Take what the server says of a delivery; one with an outcome that it has not settled we settle."""
        state = said.carried("state")
        if isinstance(state, OUTCOMES):
            delivery.outcome = state.type_name
        if not isinstance(state, OUTCOMES) and not said.settled:
            return
        number = next(number for number, each in self.session.sent.items() if each is delivery)
        del self.session.sent[number]
        if not said.settled:
            self.session.say(Disposition(Role.SENDER, number, number, True, state))
        delivery.done = True
        if delivery.told:
            self.tell(event="outcome", tag=delivery.tag.hex(), outcome=delivery.outcome)

    def take_transfer(self, said: Transfer, payload: bytes) -> None:  # noqa: ARG002 - none is due
        if not self.ending:
            self.refuse(Fault(AmqpError.NOT_ALLOWED, "a transfer on a link on which we send"))


class Receiver(Link):
    """A link on which we receive."""

    role = Role.RECEIVER

    def __init__(self, session: Windows, name: str, handle: int, address: str) -> None:
        super().__init__(session, name, handle, address)
        self.credit = 0
        self.draining = False
        self.available: int | None = None
        """What the server has said to be available, less what has come since; None if it has not said."""
        self.kept: dict[int, Incoming] = {}
        """Deliveries that are not settled, by their ids."""
        self._arriving: Incoming | None = None

    def _ours(self, **fields: Any) -> Attach:
        return Attach(
            self.name, self.handle, Role.RECEIVER, source=Source(self.address), target=Target()
        ).replace(**fields)

    def _far_end(self) -> Any:
        return self.theirs.source if self.theirs is not None else None

    def flow(self, **fields: Any) -> Flow:
        return super().flow(available=self.available, **fields)

    def take_attach(self, said: Attach) -> None:
        self.delivery_count = Serial(said.initial_delivery_count or 0)
        super().take_attach(said)

    def grant(self, credit: int) -> None:
        """Give the server so much more credit."""
        self.credit += credit
        self.session.say(self.flow(link_credit=self.credit))

    def drain(self) -> None:
        """Have the server use its credit up, and wait until it has. Raises Refused."""
        self.draining = True
        self.session.say(self.flow(link_credit=self.credit, drain=True))
        try:
            self.session.connection.until(lambda: not self.credit, self.session, self)
        finally:
            self.draining = False

    def take_flow(self, said: Flow) -> None:
        if said.delivery_count is not None:
            used = Serial(said.delivery_count) - self.delivery_count
            self.delivery_count = Serial(said.delivery_count)
            self.credit = max(self.credit - used, 0)
        self.available = said.available
        if said.echo:
            self.session.say(self.flow(link_credit=self.credit, drain=self.draining or None))

    def take_transfer(self, said: Transfer, payload: bytes) -> None:
        if self.ending:
            return
        if (fault := self._fault_of(said)) is not None:
            self.refuse(fault)
            return
        if self._arriving is None:
            self.credit -= 1
            self.delivery_count += 1
            self.available = max(self.available - 1, 0) if self.available is not None else None
            number, tag = Serial(said.delivery_id or 0), said.delivery_tag or b""
            self._arriving = Incoming(number, tag, False, said.message_format or 0, bool(said.resume))
        self._arriving.settled |= bool(said.settled)
        self._arriving.octets += payload
        if said.aborted:
            self._arriving = None
        elif not said.more:
            delivery, self._arriving = self._arriving, None
            self._deliver(delivery)

    def _fault_of(self, said: Transfer) -> Fault | None:
        arriving = self._arriving
        if len(said.delivery_tag or b"") > LONGEST_TAG:
            return Fault(AmqpError.INVALID_FIELD, f"a delivery-tag of more than {LONGEST_TAG} octets")
        if arriving is not None:
            told = (
                (said.delivery_id, arriving.id),
                (said.delivery_tag, arriving.tag),
                (said.message_format, arriving.format),
            )
            if any(given is not None and given != first for given, first in told):
                return Fault(AmqpError.INVALID_FIELD, "another delivery amid one")
            return None
        if self.credit <= 0:
            return Fault(LinkError.TRANSFER_LIMIT_EXCEEDED, "a transfer beyond our credit")
        agreed = self.theirs.rcv_settle_mode if self.theirs is not None else None
        wanted = ReceiverSettleMode.FIRST if said.settled else said.rcv_settle_mode
        if wanted == ReceiverSettleMode.SECOND != agreed:
            return Fault(AmqpError.INVALID_FIELD, "a transfer of second on a link of first")
        if said.delivery_id is None or said.delivery_tag is None:
            return Fault(AmqpError.INVALID_FIELD, "a first transfer without delivery-id or delivery-tag")
        return None

    def _deliver(self, delivery: Incoming) -> None:
        if delivery.unknown:
            return
        if not delivery.settled:
            self.kept[delivery.id] = delivery
        self.tell(event="message", tag=delivery.tag.hex(), delivery=delivery)

    def settle(self, delivery: Incoming, state: Composite) -> None:
        """Say what became of a delivery: settled at once, or once the server has settled it."""
        if self.gone is not None:
            raise self.gone
        mode = self.theirs.rcv_settle_mode if self.theirs is not None else ReceiverSettleMode.FIRST
        settles = mode == ReceiverSettleMode.FIRST
        if settles:
            self.kept.pop(delivery.id, None)
        if not delivery.settled:
            self.session.say(Disposition(Role.RECEIVER, delivery.id, delivery.id, settles or None, state))

    def take_settled(self, first: Serial, last: Serial, settled: bool) -> None:
        if settled:
            self.kept = {number: each for number, each in self.kept.items() if not first <= number <= last}
