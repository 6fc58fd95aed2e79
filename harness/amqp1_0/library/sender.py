"""Our own client's links on which it sends: credit, deliveries, outcomes, resuming (2.6.7 to 2.6.13)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from harness.amqp1_0.library.links import Link
from harness.amqp1_0.library.refusals import Fault, local
from harness.amqp1_0.library.resuming import OUTCOMES, Resumption
from harness.amqp1_0.library.windows import Outgoing, Windows
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Disposition,
    Flow,
    Role,
    SenderSettleMode,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial

OVERHEAD = 64
"""Octets that frame header and performative of a transfer of ours take at most."""


class Sender(Link):
    """A link on which we send."""

    role = Role.SENDER

    def __init__(self, session: Windows, name: str, handle: int, address: str) -> None:
        super().__init__(session, name, handle, address)
        self.credit = 0
        self._waiting: deque[Outgoing] = deque()
        self._resumed: deque[Outgoing] = deque()
        """What both sides have unsettled, and is to be sent before all else."""
        self._former: dict[bytes, Outgoing] = {}
        """What was sent before the link was attached again, by tag, and neither resumed nor settled yet."""
        self._tags = 0

    def _ours(self, **fields: Any) -> Attach:
        ours = Attach(
            self.name,
            self.handle,
            Role.SENDER,
            source=Source(expiry_policy=self._expiry),
            target=Target(self.address, expiry_policy=self._expiry),
        )
        return ours.replace(initial_delivery_count=self.delivery_count, **fields)

    def _far_end(self) -> Any:
        return self.theirs.target if self.theirs is not None else None

    # -- resuming --------------------------------------------------------------------------------------

    def _take_over(self, former: Sender) -> None:
        sent = former.session.forget(former)
        self._former = former._former | {each.tag: each for each in (*former._resumed, *sent)}
        self._waiting, self._tags = former._waiting, former._tags
        for each in self._former.values():
            each.link, each.resumed, each.state = self, False, None
        for each in self._waiting:
            each.link = self

    def _unsettled(self) -> Iterable[Outgoing]:
        return self._former.values()

    def _resume(self, resumption: Resumption) -> None:
        again = list[Outgoing]()
        for tag, delivery in list(self._former.items()):
            if tag in resumption.map:
                delivery.resumed, delivery.state = True, resumption.outcome(tag)
                self._resumed.append(self._former.pop(tag))
            elif resumption.is_ours_alone(tag) and not self.reduces:
                # The server has not got it, or has forgotten it: it may be sent again.
                again.append(self._former.pop(tag))
        self._waiting.extendleft(reversed(again))

    # -- sending ---------------------------------------------------------------------------------------

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

    @property
    def _next(self) -> deque[Outgoing]:
        """Where the next delivery is taken from."""
        return self._resumed if self._resumed or self.reduces else self._waiting

    def _go_on(self) -> None:
        while self._next and self.credit > 0 and not self.ending and self._far_end() is not None:
            self.credit -= 1
            self.delivery_count += 1
            self._transfer(self._next.popleft())
        self.session.flush()

    def _transfer(self, delivery: Outgoing) -> None:
        session = self.session
        number = session.next_delivery_id
        session.next_delivery_id += 1
        first = Transfer(self.handle, number, delivery.tag, 0, delivery.settled or None)
        pieces = list(self._pieces(delivery.payload))
        if delivery.resumed:
            first = first.replace(resume=True)
        if delivery.state is not None:
            # The server has come to an end with it: it is told that we have, too, and needs no payload.
            first, pieces = first.replace(settled=True, state=delivery.state), [b""]
        if first.settled:
            self._over(delivery, delivery.state)
        else:
            session.sent[number] = delivery
        said = [first, *[Transfer(self.handle)] * (len(pieces) - 1)]
        for place, (each, piece) in enumerate(zip(said, pieces, strict=True)):
            more = place < len(pieces) - 1
            session.send(self, each.replace(more=True) if more else each, piece)

    def _pieces(self, payload: bytes) -> Iterator[bytes]:
        room = self.session.connection.largest - OVERHEAD
        return (payload[start : start + room] for start in range(0, len(payload), room))

    # -- outcomes --------------------------------------------------------------------------------------

    def take_outcome(self, delivery: Outgoing, said: Disposition) -> None:
        """Take what the server says of a delivery; one with an outcome that it has not settled we settle."""
        state = said.carried("state")
        if not isinstance(state, OUTCOMES) and not said.settled:
            return
        number = next(number for number, each in self.session.sent.items() if each is delivery)
        del self.session.sent[number]
        if not said.settled:
            self.session.say(Disposition(Role.SENDER, number, number, True, state))
        self._over(delivery, state)

    def _over(self, delivery: Outgoing, state: object) -> None:
        """Be done with a delivery, whose outcome may be told."""
        delivery.done = True
        if isinstance(state, OUTCOMES):
            delivery.outcome = state.type_name
        if delivery.told and (delivery.resumed or not delivery.settled):
            self.tell(event="outcome", tag=delivery.tag.hex(), outcome=delivery.outcome)

    def take_transfer(self, said: Transfer, payload: bytes) -> None:  # noqa: ARG002 - none is due
        if not self.ending:
            self.refuse(Fault(AmqpError.NOT_ALLOWED, "a transfer on a link on which we send"))
