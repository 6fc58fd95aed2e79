"""2.7.5 Transfer: its form, and who settles."""

from harness.amqp1_0.broken.deviations import (
    forwards,
    ignores,
    of_client,
    rejects,
    respells,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Sender, message
from harness.amqp1_0.client.outcomes import covers, fields
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.client.transcript import UNREAD, Framed, Passage
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Close,
    Detach,
    Disposition,
    End,
    ReceiverSettleMode,
    Role,
    SenderSettleMode,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import As, Described, Map, Ulong
from harness.play.expect import Outcome
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG, STR8, held_against
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

LONGEST_TAG = 32
"""2.8.7: octets."""
OF_A_DELIVERY = ("delivery_id", "delivery_tag", "message_format")
"""What is said of a delivery on its first transfer, and may be left out behind it."""
SECOND = ReceiverSettleMode.SECOND
SETTLED, UNSETTLED = SenderSettleMode.SETTLED, SenderSettleMode.UNSETTLED


# -- its form ------------------------------------------------------------------------------------------


@watch(
    "1-0/2.7.5.transfer-well-formed",
    during="1-0/2.6.12.tags-differ",
    looks_at=came(Transfer, UNREAD),
    until=OURS_IS_WRONG,
    of_clients=TALK,
)
@broken_by("has no handle", forwards(Transfer, handle=None), CLIENT)
@broken_by(
    "says more than a transfer holds",
    of_client(respells(Transfer, lambda said: said.sent_as(unknown=("x",)))),
    CLIENT,
)
@broken_by("has no handle", rewrites(Transfer, handle=None))
@broken_by("has a text for more", rewrites(Transfer, more=As(STR8, "no")))
@broken_by("says more than a transfer holds", respells(Transfer, lambda said: said.sent_as(unknown=("x",))))
@broken_by("transfers a map", respells(Transfer, lambda _: Described(Ulong(Transfer.spec.code), Map())))
def every_transfer_is_as_defined(each: Framed) -> Found:
    """Every transfer of the run is a list of at most eleven fields of their types."""
    return held_against(Transfer, each)


class Arriving(State):
    """The first transfer of each delivery that is not complete, by channel and handle."""

    def __init__(self) -> None:
        self.first: dict[tuple[int, int], Transfer] = {}

    def before(self, each: Framed) -> Transfer | None:
        """Learn a transfer; give the first one of its delivery, None where it is that."""
        place, said = (each.unit.channel, each.said.handle), each.said
        first = self.first.pop(place, None)
        if said.more and not said.aborted:
            self.first[place] = first or said
        return first


@watch(
    "1-0/2.7.5.first-transfer-complete",
    during="1-0/2.5.6.multi-frame-counts-frames",
    looks_at=came(Transfer),
    start=Arriving,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("has no delivery-tag", forwards(Transfer, delivery_tag=None), CLIENT)
@broken_by("has no delivery-id", forwards(Transfer, delivery_id=None), CLIENT)
@broken_by("has no message-format", forwards(Transfer, message_format=None), CLIENT)
@broken_by("has no delivery-tag", rewrites(Transfer, delivery_tag=None))
@broken_by("has no delivery-id", rewrites(Transfer, delivery_id=None))
@broken_by("has no message-format", rewrites(Transfer, message_format=None))
def the_first_transfer_says_all_of_its_delivery(arriving: Arriving, each: Framed) -> Found:
    """Every first transfer of a delivery has delivery-id, delivery-tag and message-format."""
    if not each.said.is_as_defined() or arriving.before(each) is not None:
        return None
    lacks = [name for name in OF_A_DELIVERY if each.said.carried(name) is None]
    return not lacks or f"a first transfer without {', '.join(lacks)} at {each.at:.4f} s"


@watch(
    "1-0/2.7.5.continuations-agree",
    during="1-0/2.5.6.multi-frame-counts-frames",
    looks_at=came(Transfer),
    start=Arriving,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by(
    "has another id", forwards(Transfer, when=lambda said: said.delivery_id is None, delivery_id=99), CLIENT
)
@broken_by(
    "has another tag",
    forwards(Transfer, when=lambda said: said.delivery_id is None, delivery_tag=b"?"),
    CLIENT,
)
@broken_by("has another id", rewrites(Transfer, when=lambda said: said.delivery_id is None, delivery_id=99))
@broken_by(
    "has another tag", rewrites(Transfer, when=lambda said: said.delivery_id is None, delivery_tag=b"?")
)
def later_transfers_are_of_the_same_delivery(arriving: Arriving, each: Framed) -> Found:
    """Every further transfer of a delivery says what its first one says of it, or nothing."""
    first = arriving.before(each) if each.said.is_as_defined() else None
    if first is None:
        return None
    said = ((name, each.said.carried(name)) for name in OF_A_DELIVERY)
    wrong = [name for name, value in said if value is not None and value != first.carried(name)]
    return not wrong or f"another {', '.join(wrong)} at {each.at:.4f} s"


@watch("1-0/2.8.7.tag-length", during="1-0/2.6.12.tags-differ", looks_at=came(Transfer), of_clients=TALK)
@broken_by("has a long tag", forwards(Transfer, delivery_tag=bytes(LONGEST_TAG + 1)), CLIENT)
@broken_by("has a long tag", rewrites(Transfer, delivery_tag=bytes(LONGEST_TAG + 1)))
def every_delivery_tag_is_short(each: Passage) -> Found:
    """Every delivery-tag of the run has at most 32 octets."""
    tag = each.said.delivery_tag
    if tag is None or not each.said.is_as_defined():
        return None
    return len(tag) <= LONGEST_TAG or f"a delivery-tag of {len(tag)} octets at {each.at:.4f} s"


# -- what we send --------------------------------------------------------------------------------------


def about(delivery: int, **values: object) -> Outcome:
    """Allow a disposition of the receiver about a delivery, with these values in its fields."""
    plain = fields(Disposition, role=Role.RECEIVER, **values)
    return Outcome(
        f"{plain.says} about the delivery",
        lambda seen: plain.matches(seen) and covers(seen.performative, delivery),
        about=plain.about,
    )


@scenario("1-0/2.7.5.unset-means-unsettled", needs={"address"})
@broken_by("takes it for settled", forwards(Transfer, settled=True))
def what_does_not_say_settled_is_not(container: Container) -> None:
    """A disposition comes for a message whose transfer does not say settled."""
    session = container.session()
    sender = session.sender(container.address()).granted()
    number = sender.send(settled=None)
    session.expect(about(number))


def arrives_without_a_disposition(session: Session, container: Container, address: str, body: bytes) -> None:
    """Judge that no disposition comes for a message that was sent settled, and that it arrives."""
    session.stays("no disposition", Disposition)
    came = container.left(address, 2)
    session.judge("the message arrives", "the message does not arrive", any(body in each for each in came))


@scenario("1-0/2.7.5.settled-later", needs={"address"})
@broken_by(
    "looks at the first transfer alone", forwards(Transfer, when=lambda said: not said.more, settled=None)
)
@broken_by("loses it", ignores(Transfer, skip=2))
def a_later_transfer_settles_its_delivery(container: Container) -> None:
    """A message in two transfers of which the second alone says settled arrives, without a disposition."""
    address, session = container.address(), container.session()
    sender = session.sender(address)
    sender.send(b"control", parts=2, settled=True)
    session.fence(address)
    octets, sender = message(b"settled late"), sender.granted()
    session.send(
        sender.carries(sender.transfer(more=True), octets[:5]),
        sender.carries(Transfer(sender.handle, settled=True), octets[5:]),
    )
    arrives_without_a_disposition(session, container, address, b"settled late")


@scenario("1-0/2.7.5.first-settles", needs={"address"})
@broken_by("waits", rewrites(Disposition, settled=False))
def a_receiver_of_first_settles(container: Container) -> None:
    """The disposition for a message on a link of first settles it."""
    session = container.session()
    sender = session.sender(container.address(), rcv_settle_mode=ReceiverSettleMode.FIRST).granted()
    number = sender.send()
    session.expect(about(number, settled=True))


@scenario("1-0/2.7.5.second-waits", needs={"address"})
@broken_by("settles first", rewrites(Disposition, settled=True))
@broken_by("says nothing", withholds(Disposition))
def a_receiver_of_second_waits_for_the_sender(container: Container) -> None:
    """The disposition for a message on a link of second has an outcome, and does not settle it."""
    address, session = container.address(), container.session()
    ours = session.the_attach(Role.SENDER, source=Source(), target=Target(address), rcv_settle_mode=SECOND)
    answer = session.ask(ours, Attach, Detach, End, Close)
    if not isinstance(answer, Attach) or answer.target is None:
        container.inapplicable("the target refuses to settle second")
    if answer.rcv_settle_mode != SECOND:
        container.inapplicable("the target settles first where second was asked for")
    sender = Sender(session, ours, answer).granted()
    number = sender.send()
    said = session.expect(about(number, settled=False))
    session.judge("an outcome", "no outcome", said.state is not None)
    session.send(Disposition(Role.SENDER, number, number, True, Accepted()))
    session.goes_on(address)


@scenario("1-0/2.7.5.resumed-unknown-ignored", needs={"address"})
@broken_by("takes it for new", forwards(Transfer, when=lambda said: said.resume, resume=False))
@broken_by("loses the next one, too", ignores(Transfer, skip=1))
def a_resumed_delivery_that_nobody_knows_is_ignored(container: Container) -> None:
    """Of a resumed delivery and a new one the new one alone arrives."""
    address, session = container.address(), container.session()
    session.sender(address).delivers(b"control")
    sender = session.sender(address)
    with session.works("the delivery behind a resumed one is settled"):
        sender.send(b"resumed", resume=True)
        sender.delivers(b"new")
    came = [body for body in container.left(address, 2) if b"control" not in body]
    container.judge("the new message alone", f"{len(came)} messages", len(came) == 1 and b"new" in came[0])


# -- what we receive -----------------------------------------------------------------------------------


def transfers_of(container: Container, mode: int) -> list[Transfer]:
    """Take a message on a link of this snd-settle-mode. Raises Inapplicable where that is not agreed on."""
    address = container.stocked(b"x")
    receiver = container.session().receiver(address, snd_settle_mode=mode)
    if receiver.partner.snd_settle_mode != mode:
        container.inapplicable("the target does not agree to this settlement mode")
    (delivery,) = receiver.takes(1)
    return list(delivery.transfers)


@scenario("1-0/2.7.5.settled-mode-kept", needs={"address"})
@broken_by("leaves it open", rewrites(Transfer, settled=None))
def on_a_settled_link_deliveries_are_settled(container: Container) -> None:
    """Of the transfers of a message on a link of settled deliveries one says settled."""
    settled = any(each.settled for each in transfers_of(container, SETTLED))
    container.judge("a transfer that says settled", "no transfer that says settled", settled)


@scenario("1-0/2.7.5.unsettled-mode-kept", needs={"address"})
@broken_by("settles all the same", rewrites(Transfer, settled=True))
def on_an_unsettled_link_deliveries_are_unsettled(container: Container) -> None:
    """None of the transfers of a message on a link of unsettled deliveries says settled."""
    settled = any(each.settled for each in transfers_of(container, UNSETTLED))
    container.judge("no transfer that says settled", "a transfer that says settled", not settled)


@scenario("1-0/2.7.5.batchable-borne", needs={"address"})
@broken_by("waits for ever", ignores(Transfer, when=lambda said: said.batchable))
def a_batchable_transfer_is_settled(container: Container) -> None:
    """Of two messages the first says that its disposition is in no hurry: both are settled."""
    session = container.session()
    sender = session.sender(container.address())
    sender.delivers(b"control")
    with session.works("both messages are settled"):
        numbers = [sender.send(b"first", batchable=True), sender.send(b"second")]
        for each in numbers:
            sender.outcome(each)


@scenario("1-0/2.8.2.mixed", needs={"address"})
@broken_by("loses what is settled", ignores(Transfer, when=lambda said: said.settled))
@broken_by("refuses it", rejects(Transfer, AmqpError.NOT_ALLOWED, when=lambda said: said.settled))
def settled_and_unsettled_deliveries_are_mixed(container: Container) -> None:
    """Of three messages on a mixed link the second is sent settled: all arrive, the others are settled."""
    address, session = container.address(), container.session()
    sender = session.sender(address, snd_settle_mode=SenderSettleMode.MIXED)
    if sender.partner.snd_settle_mode != SenderSettleMode.MIXED:
        container.inapplicable("the target does not agree to this settlement mode")
    sender.delivers(b"one")
    with session.works("a message behind a settled one is settled"):
        sender.send(b"two", settled=True)
        sender.delivers(b"three")
    came = b"".join(container.left(address, 3))
    container.judge("all three", "fewer", all(each in came for each in (b"one", b"two", b"three")))


@watch(
    "1-0/2.7.5.aborted-without-more",
    during="1-0/2.6.14.whole-message",
    looks_at=came(Transfer),
    never="the target aborts no delivery",
    of_clients=TALK,
)
@broken_by("aborts, and says that more will follow", forwards(Transfer, aborted=True, more=True), CLIENT)
@broken_by("aborts, and says that more will follow", rewrites(Transfer, aborted=True, more=True))
def an_aborted_transfer_says_nothing_of_more(each: Passage) -> Found:
    """No transfer of the server that is aborted says more."""
    if not each.said.is_as_defined() or not each.said.aborted:
        return None
    return not each.said.more or f"aborted, and more, at {each.at:.4f} s"
