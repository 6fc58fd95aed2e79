"""Our own client's links on which it receives: credit, deliveries, settling, resuming (2.6.7 to 2.6.13)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.amqp1_0.library.links import Link
from harness.amqp1_0.library.refusals import Fault
from harness.amqp1_0.library.resuming import Resumption
from harness.amqp1_0.library.windows import Windows
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Disposition,
    Flow,
    LinkError,
    ReceiverSettleMode,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial

LONGEST_TAG = 32
LARGEST = 1 << 20
"""Octets of a message that we take."""


@dataclass(slots=True, eq=False)
class Incoming:
    """A delivery of the server's, on a `link` of ours; `octets` are its message once it is whole.

    `state` is what we have said became of it, while it is not settled.
    """

    link: Receiver
    id: Serial
    tag: bytes
    settled: bool
    format: int
    unknown: bool = False
    """Whether it is resumed, though we have never heard of it."""
    told: bool = False
    """Whether it has come before: it is resumed, and its message needs not be told again."""
    octets: bytearray = field(default_factory=bytearray)
    state: Composite | None = None


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
        self._former: dict[bytes, Incoming] = {}
        """What came before the link was attached again, by tag, and was neither resumed nor settled yet."""
        self._arriving: Incoming | None = None

    def _ours(self, **fields: Any) -> Attach:
        return Attach(
            self.name,
            self.handle,
            Role.RECEIVER,
            source=Source(self.address, expiry_policy=self._expiry),
            target=Target(expiry_policy=self._expiry),
            max_message_size=LARGEST,
        ).replace(**fields)

    def _far_end(self) -> Any:
        return self.theirs.source if self.theirs is not None else None

    def flow(self, **fields: Any) -> Flow:
        return super().flow(available=self.available, **fields)

    def take_attach(self, said: Attach) -> None:
        self.delivery_count = Serial(said.initial_delivery_count or 0)
        super().take_attach(said)

    # -- resuming --------------------------------------------------------------------------------------

    def _take_over(self, former: Receiver) -> None:
        self._former = former._former | {each.tag: each for each in former.kept.values()}
        for each in self._former.values():
            each.link, each.told = self, True

    def _unsettled(self) -> Iterable[Incoming]:
        return self._former.values()

    def _resume(self, resumption: Resumption) -> None:
        # What the sender has not, it has settled (2.6.13).
        self._former = {tag: each for tag, each in self._former.items() if not resumption.is_ours_alone(tag)}

    # -- credit ----------------------------------------------------------------------------------------

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

    # -- deliveries ------------------------------------------------------------------------------------

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
            self._arriving = self._begun(said)
        delivery = self._arriving
        delivery.settled |= bool(said.settled)
        if not delivery.told:
            delivery.octets += payload
        if said.aborted:
            self._arriving = None
        elif len(delivery.octets) > LARGEST:
            self.refuse(Fault(LinkError.MESSAGE_SIZE_EXCEEDED, f"a message of more than {LARGEST} octets"))
        elif not said.more:
            self._arriving = None
            self._deliver(delivery)

    def _begun(self, said: Transfer) -> Incoming:
        """Give the delivery that a transfer begins, or the one that it resumes, which has a new id then."""
        number, tag = Serial(said.delivery_id or 0), said.delivery_tag or b""
        known = self._former.pop(tag, None) if said.resume else None
        if known is None:
            return Incoming(self, number, tag, False, said.message_format or 0, bool(said.resume))
        known.id = number
        return known

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
        if self.reduces and not said.resume:
            return Fault(AmqpError.NOT_ALLOWED, "a new delivery behind a map that is not whole")
        return None

    def _deliver(self, delivery: Incoming) -> None:
        if delivery.unknown:
            return
        if not delivery.settled:
            self.kept[delivery.id] = delivery
        if not delivery.told:
            self.tell(event="message", tag=delivery.tag.hex(), delivery=delivery)
        elif delivery.state is not None and not delivery.settled:
            self._say(delivery, delivery.state)

    def settle(self, delivery: Incoming, state: Composite) -> None:
        """Say what became of a delivery: settled at once, or once the server has settled it."""
        if self.gone is not None:
            raise self.gone
        delivery.state = state
        if delivery.tag in self._former:
            return  # it has no id any more, and is settled when it is resumed
        self._say(delivery, state)

    def _say(self, delivery: Incoming, state: Composite) -> None:
        mode = self.theirs.rcv_settle_mode if self.theirs is not None else ReceiverSettleMode.FIRST
        settles = mode == ReceiverSettleMode.FIRST
        if settles:
            self.kept.pop(delivery.id, None)
        if not delivery.settled:
            self.session.say(Disposition(Role.RECEIVER, delivery.id, delivery.id, settles or None, state))

    def take_settled(self, first: Serial, last: Serial, settled: bool) -> None:
        if settled:
            self.kept = {number: each for number, each in self.kept.items() if not first <= number <= last}
