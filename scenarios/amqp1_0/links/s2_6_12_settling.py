"""2.6 and 2.6.12: settled once, settled without an outcome, and outcomes that nobody asked for."""

from harness.amqp1_0.broken.deviations import follows, forwards, ignores, of_client, rejects
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import covers
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Disposition,
    Received,
    ReceiverSettleMode,
    Released,
    Role,
    Transfer,
)
from harness.amqp1_0.wire.serial import SIZE, Serial
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import Direction
from scenarios.amqp1_0.performatives.s2_7_6_disposition import comes_again
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

SECOND = ReceiverSettleMode.SECOND


@scenario("1-0/2.6.settled-for-good", needs={"address"})
@broken_by("refuses the second", rejects(Disposition, AmqpError.NOT_FOUND, skip=1))
@broken_by("takes the last word", forwards(Disposition, when=lambda said: said.settled, state=Released()))
def what_is_settled_stays_so(container: Container) -> None:
    """A delivery that is settled as accepted, and then as released, does not come again."""
    comes_again(container)
    address = container.stocked(b"x")
    session = container.session()
    (delivery,) = session.receiver(address).takes(1)
    for state in (Accepted(), Released()):
        session.send(Disposition(Role.RECEIVER, delivery.id, delivery.id, True, state))
    session.goes_on(address)
    session.end()
    again = len(container.left(address))
    container.judge("the message does not come again", "the message comes again", not again)


@scenario("1-0/2.6.12.settled-without-an-outcome", needs={"address"})
@broken_by(
    "wants an outcome", rejects(Disposition, AmqpError.INVALID_FIELD, when=lambda said: said.state is None)
)
def a_receiver_settles_without_an_outcome(container: Container) -> None:
    """A delivery is settled by a disposition without a state: the session goes on."""
    address = container.stocked(b"x")
    session = container.session()
    (delivery,) = session.receiver(address).takes(1)
    session.send(Disposition(Role.RECEIVER, delivery.id, delivery.id, True))
    session.goes_on(address)


class Outcomes(State):
    """What we have said of deliveries of the server."""

    def __init__(self) -> None:
        self.ours: list[Disposition] = []


@watch(
    "1-0/2.6.12.spontaneous-states-wait",
    during="1-0/2.6.12.settles-behind-an-outcome",
    looks_at=came(Disposition) + went(OF_AMQP),
    start=Outcomes,
    gap=Gaps.STOPS,
    never="the target changes the state of no delivery by itself",
    of_clients=TALK,
)
@broken_by(
    "settles by itself",
    of_client(follows(Transfer, Disposition(Role.SENDER, 0, 0, True, Released()))),
    CLIENT,
)
@broken_by("settles by itself", follows(Transfer, Disposition(Role.SENDER, 0, 0, True, Released())))
def a_state_that_nobody_asked_for_does_not_settle(outcomes: Outcomes, each: Framed) -> Found:
    """A disposition of the server about what it has sent, of which we have said nothing, does not settle."""
    said = each.said
    if not isinstance(said, Disposition) or not said.is_as_defined():
        return None
    if each.direction is Direction.SENT:
        outcomes.ours += [said] if said.role is Role.RECEIVER else []
        return None
    if said.role is not Role.SENDER or any(covers(ours, Serial(said.first)) for ours in outcomes.ours):
        return None
    return not said.settled or f"settled at {each.at:.4f} s, with nothing said of it"


@scenario("1-0/2.7.5.state-borne", needs={"address"})
@broken_by(
    "refuses it", rejects(Transfer, AmqpError.NOT_IMPLEMENTED, when=lambda said: said.state is not None)
)
@broken_by("loses it", ignores(Transfer, when=lambda said: said.state is not None))
def a_transfer_may_say_the_state_of_its_delivery(container: Container) -> None:
    """A message whose transfer says a state that is not the last one is settled."""
    session = container.session()
    sender = session.sender(container.address())
    sender.delivers(b"control")
    with session.works("a message whose transfer has a state is settled"):
        sender.outcome(sender.send(b"x", state=Received(0, 0)))


@scenario("1-0/2.7.5.settled-ignores-the-mode", needs={"address"})
@broken_by("looks at it", rejects(Transfer, AmqpError.INVALID_FIELD, when=lambda said: said.settled))
@broken_by("loses it", ignores(Transfer, when=lambda said: said.settled))
def the_mode_of_a_settled_transfer_is_ignored(container: Container) -> None:
    """On a link of first, a message that is sent settled and says second arrives, as does one behind it."""
    address, session = container.address(), container.session()
    sender = session.sender(address, rcv_settle_mode=ReceiverSettleMode.FIRST)
    sender.delivers(b"control")
    with session.works("a message behind a settled one of second is settled"):
        sender.send(b"settled", settled=True, rcv_settle_mode=SECOND)
        sender.delivers(b"behind")
    arrives = any(b"settled" in each for each in container.left(address, 3))
    container.judge("the message arrives", "the message does not arrive", arrives)


@scenario("1-0/2.8.10.delivery-id-wraps", needs={"address"})
@broken_by(
    "refuses what is behind the wrap",
    rejects(Transfer, AmqpError.INVALID_FIELD, when=lambda said: said.delivery_id == 1),
)
@broken_by("settles by numbers", ignores(Transfer, when=lambda said: said.delivery_id == 1))
def delivery_ids_wrap_around(container: Container) -> None:
    """Four messages whose delivery-ids begin with 2^32-2 are settled."""
    container.session().sender(container.address()).delivers(b"control")
    session = container.session()
    sender = session.sender(container.address())
    session.next_delivery_id = Serial(SIZE - 2)
    with session.works("messages with delivery-ids over the wrap are settled"):
        sender.delivers(b"1", b"2", b"3", b"4")


@scenario("1-0/2.8.11.later-version-taken", needs={"address"})
@broken_by(
    "knows one version", rejects(Transfer, AmqpError.NOT_IMPLEMENTED, when=lambda said: said.message_format)
)
@broken_by("loses it", ignores(Transfer, when=lambda said: said.message_format))
def a_later_version_of_a_format_is_taken(container: Container) -> None:
    """A message of version 1 of the format whose version 0 is taken is settled as accepted."""
    session = container.session()
    sender = session.sender(container.address())
    sender.delivers(b"control")
    with session.works("a message of a later version of its format is settled"):
        said = sender.outcome(sender.send(b"x", message_format=1))
    session.judge("accepted", "another outcome", isinstance(said.state, Accepted))
