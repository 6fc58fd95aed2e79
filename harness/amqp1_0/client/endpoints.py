"""Link endpoints: credit, deliveries and their outcomes, from our side (2.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from harness.amqp1_0.client.link import Link, Said
from harness.amqp1_0.client.outcomes import Received, describe, spans
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, MIN_MAX_FRAME_SIZE, Frame
from harness.amqp1_0.wire.performatives import (
    Accepted,
    Attach,
    Detach,
    Disposition,
    Flow,
    Role,
    SenderSettleMode,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.amqp1_0.wire.types import Described, Ulong
from harness.play.expect import ControlFailed

OVERHEAD = 64
"""Octets that frame header and performative of a transfer of ours take at most."""
DATA = 0x75
"""Part 3: the descriptor of a data section, all that our messages consist of."""


def message(body: bytes = b"x") -> bytes:
    """Give the octets of a message with one data section, which any server takes."""
    return encode(Described(Ulong(DATA), body))


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that has come: its first transfer, all its transfers, and its payload."""

    first: Transfer
    transfers: tuple[Transfer, ...]
    payload: bytes

    @property
    def id(self) -> Serial:
        """Its delivery-id. Raises ControlFailed when its first transfer has none."""
        if self.first.delivery_id is None:
            raise ControlFailed("a delivery", "a first transfer without delivery-id")
        return Serial(self.first.delivery_id)


class Carrier(Protocol):
    """The connection of the session, as far as links need it."""

    link: Link


class Conversation(Protocol):
    """The session that a link is attached to, as far as the link needs it (2.5)."""

    channel: int
    next_outgoing_id: Serial
    next_delivery_id: Serial
    seen: list[Received]

    @property
    def connection(self) -> Carrier: ...

    def told(self, *kinds: type[Composite]) -> list[Any]:
        """Give all performatives of these kinds that have come on the session."""

    def flow(self, **fields: Any) -> Flow:
        """Give a flow that states our end of the session, altered as given."""

    def send(self, *what: Said) -> None:
        """Send on the session, in a single write."""

    def control(self, what: str, *kinds: type[Composite]) -> Any:
        """Take the next performative, which must be one of these. Raises ControlFailed."""

    def until(self, what: str, holds: Callable[[], Any]) -> Any:
        """Wait until something holds of what has come, and give it. Raises ControlFailed."""

    def take_in(self, holds: Callable[[], Any], moments: int = 0) -> None:
        """Take all that comes until nothing more does."""


class AttachedLink:
    """A link, attached: `attach` is ours, `partner` the server's, `handle` ours."""

    def __init__(self, session: Conversation, attach: Attach, partner: Attach) -> None:
        self.session = session
        self.attach = attach
        self.partner = partner
        self.handle = attach.handle

    def told(self, *kinds: type[Composite]) -> list[Any]:
        """Give what has come of these kinds that names this link's handle, looked at or not."""
        behind = self._behind_attach(self.session.told(*kinds, Attach))
        came: list[Any] = [each for each in behind if isinstance(each, kinds)]
        return [each for each in came if each.handle == self.partner.handle]

    def _behind_attach(self, came: list[Any]) -> list[Any]:
        """Leave out what came before the server's attach: its handle may have been another link's."""
        places = [place for place, each in enumerate(came) if each is self.partner]
        return came[places[-1] + 1 :] if places else came

    def flow(self, **fields: Any) -> Flow:
        """Give a flow of this link with the state of the session, altered as given."""
        return self.session.flow(**{"handle": self.handle} | fields)

    def detach(self, closed: bool = True) -> None:
        """Detach the link, for good unless told otherwise. Raises ControlFailed."""
        self.session.send(Detach(self.handle, closed))
        while not isinstance(self.session.control("detach", Detach, Transfer), Detach):
            pass


class Receiver(AttachedLink):
    """A link on which we receive."""

    @property
    def delivery_count(self) -> Serial:
        """The server's delivery-count as we know it: of its attach, or its last flow, and what came since."""
        count = Serial(self.partner.initial_delivery_count or 0)
        more = False
        for each in self.told(Flow, Transfer):
            if isinstance(each, Flow):
                count = count if each.delivery_count is None else Serial(each.delivery_count)
                continue
            count += 0 if more else 1
            more = each.more and not each.aborted
        return count

    def grants(self, credit: int, **fields: Any) -> None:
        """Give the server so much credit."""
        given = {"delivery_count": self.delivery_count, "link_credit": credit}
        self.session.send(self.flow(**given | fields))

    def deliveries(self) -> list[Delivery]:
        """Give the deliveries that were looked at and are whole, those that were aborted left out."""
        whole, parts = list[Delivery](), list[tuple[Transfer, bytes]]()
        payloads = {id(each.performative): each.payload for each in self.session.seen}
        for said in self._behind_attach([each.performative for each in self.session.seen]):
            if not isinstance(said, Transfer) or said.handle != self.partner.handle:
                continue
            parts.append((said, payloads[id(said)]))
            if said.aborted:
                parts = []
            elif not said.more:
                transfers = tuple(part for part, _ in parts)
                whole.append(Delivery(transfers[0], transfers, b"".join(octets for _, octets in parts)))
                parts = []
        return whole

    def takes(self, count: int, **fields: Any) -> list[Delivery]:
        """Give credit for so many deliveries, and wait for them. Raises ControlFailed."""
        before = len(self.deliveries())
        self.grants(count, **fields)
        return self.waits(before + count)[before:]

    def waits(self, count: int) -> list[Delivery]:
        """Wait until so many deliveries have come in all. Raises ControlFailed."""

        def come() -> list[Delivery]:
            found = self.deliveries()
            return found if len(found) >= count else []

        return list(self.session.until("credit for a message", come))

    def rest(self, least: int, credit: int = 10) -> list[Delivery]:
        """Give credit and take all that comes; for `least` so many wait as long as for an answer."""
        before = len(self.deliveries())
        self.grants(credit)
        self.session.take_in(lambda: len(self.deliveries()) >= before + least)
        return self.deliveries()[before:]

    def settles(self, *deliveries: Delivery, state: Composite | None = None) -> None:
        """Settle deliveries one by one, as accepted unless told otherwise."""
        outcome = Accepted() if state is None else state
        self.session.send(
            *(Disposition(Role.RECEIVER, each.id, each.id, True, outcome) for each in deliveries)
        )


class Sender(AttachedLink):
    """A link on which we send: `delivery_count` is ours."""

    def __init__(self, session: Conversation, attach: Attach, partner: Attach) -> None:
        super().__init__(session, attach, partner)
        self.delivery_count = Serial(attach.initial_delivery_count or 0)

    @property
    def credit(self) -> int:
        """How many messages the server takes now, by what it has said last (2.6.7)."""
        initial, given = self.attach.initial_delivery_count or 0, None
        for flow in self.told(Flow):
            given = flow if flow.link_credit is not None else given
        if given is None:
            return 0
        counted = initial if given.delivery_count is None else given.delivery_count
        return (Serial(counted) - self.delivery_count) + int(given.link_credit)

    def granted(self, count: int = 1) -> Sender:
        """Wait until the server takes so many messages; give the link. Raises ControlFailed."""
        self.session.until("an attach by credit", lambda: self.credit >= count)
        return self

    def transfer(self, **fields: Any) -> Transfer:
        """Give the first transfer of the next delivery, altered as given."""
        settled = self.partner.snd_settle_mode == SenderSettleMode.SETTLED or None
        number = self.session.next_delivery_id
        return Transfer(self.handle, number, number.to_bytes(4), 0, settled).replace(**fields)

    def carries(self, said: Transfer, payload: bytes = b"") -> Frame:
        """Give the frame of a transfer with its payload, and count it where it goes on in our state."""
        session = self.session
        session.next_outgoing_id += 1
        if said.delivery_id is not None and said.delivery_id == session.next_delivery_id:
            session.next_delivery_id += 1
            self.delivery_count += 1
        return Frame(AMQP, session.channel, said.encode() + payload)

    def send(self, body: bytes = b"x", parts: int = 1, **fields: Any) -> Serial:
        """Send a message of one data section, with credit, in so many transfers; give its delivery-id."""
        self.granted()
        number, payload = self.session.next_delivery_id, message(body)
        pieces = list(self._pieces(payload, parts))
        said = [self.transfer(**fields), *[Transfer(self.handle)] * (len(pieces) - 1)]
        said[:-1] = [each.replace(more=True) for each in said[:-1]]
        self.session.send(*(self.carries(*each) for each in zip(said, pieces, strict=True)))
        return number

    def _pieces(self, payload: bytes, parts: int) -> Iterator[bytes]:
        """Cut a payload into so many pieces, or more where the server's frames are too small for them."""
        partner = self.session.connection.link.partner
        room = int(partner.max_frame_size if partner is not None else MIN_MAX_FRAME_SIZE) - OVERHEAD
        size = min(-(-len(payload) // parts), room)
        return (payload[start : start + size] for start in range(0, len(payload), size))

    def outcome(self, delivery: int) -> Disposition:
        """Wait for a disposition about a delivery that settles it, and give it. Raises ControlFailed."""

        def settled() -> Disposition | None:
            return next((each for each in self.dispositions(delivery) if each.settled), None)

        found: Disposition = self.session.until("a transfer", settled)
        return found

    def dispositions(self, delivery: int) -> list[Disposition]:
        """Give the dispositions of the server about one of our deliveries that were looked at (2.7.6)."""
        said = (each.performative for each in self.session.seen)
        ours = (each for each in said if isinstance(each, Disposition) and each.role == Role.RECEIVER)
        return [each for each in ours if spans(each, delivery)]

    def delivers(self, *bodies: bytes) -> None:
        """Send messages and have each settled. Raises ControlFailed when one is not accepted."""
        for number in [self.send(each) for each in bodies]:
            said = self.outcome(number)
            if not isinstance(said.state, Accepted):
                raise ControlFailed("a transfer", describe(said))
