"""2.5.6 Session Flow Control: transfer-ids and windows."""

from harness.amqp1_0.broken.deviations import forwards, ignores, rejects, rewrites
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import session_ended
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.wire.performatives import AmqpError, Attach, Begin, End, Flow, Transfer
from harness.amqp1_0.wire.serial import SIZE, Serial
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

MANY = 100
"""A window, or credit, for more than is there."""
LAST = SIZE - 1


def comes(session: Session, count: int) -> None:
    """Judge that so many transfers come, and not one more."""
    for _ in range(count):
        session.expect(Transfer)
    session.stays(f"no more than {count} transfers", Transfer)


# -- transfer-ids --------------------------------------------------------------------------------------


class Sent(State):
    """The transfer-id of the server's next transfer, by its channel."""

    def __init__(self) -> None:
        self.next: dict[int, Serial] = {}


@watch(
    "1-0/2.5.6.next-outgoing-id-counts",
    during="1-0/2.5.6.incoming-id-follows-a-flow",
    looks_at=came(OF_AMQP),
    start=Sent,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("is one ahead", forwards(Flow, next_outgoing_id=lambda number: number + 1), CLIENT)
@broken_by("begins elsewhere", forwards(Begin, next_outgoing_id=lambda number: number + 1), CLIENT)
@broken_by("is one ahead", rewrites(Flow, next_outgoing_id=lambda number: number + 1))
@broken_by("begins elsewhere", rewrites(Begin, next_outgoing_id=lambda number: number + 1))
def flows_say_the_id_of_the_next_transfer(sent: Sent, each: Framed) -> Found:
    """Each flow of the server says the transfer-id of its begin and one more for each transfer behind it."""
    channel, said = each.unit.channel, each.said
    if said is None or not said.is_as_defined():
        return None
    if isinstance(said, Begin):
        sent.next[channel] = Serial(said.next_outgoing_id)
    elif isinstance(said, Transfer) and channel in sent.next:
        sent.next[channel] += 1
    elif isinstance(said, Flow) and channel in sent.next:
        right = said.next_outgoing_id == sent.next[channel]
        return right or f"another next-outgoing-id at {each.at:.4f} s"
    return None


@scenario("1-0/2.5.6.next-incoming-id-counts", needs={"address"})
@broken_by(
    "counts messages", rewrites(Flow, when=lambda said: (said.next_incoming_id or 0) > 5, next_incoming_id=8)
)
@broken_by("counts from zero", rewrites(Flow, next_incoming_id=lambda number: (number - 5) % SIZE))
def transfers_are_counted_by_frames(container: Container) -> None:
    """Behind three messages in four transfers the server expects the transfer-id that is four further."""
    address = container.address()
    session = container.session(next_outgoing_id=5)
    sender = session.sender(address)
    for number in [sender.send(), sender.send(parts=2), sender.send()]:
        sender.outcome(number)
    expected = session.stated(address).next_incoming_id
    session.judge("9 as next-incoming-id", f"{expected} as next-incoming-id", expected == 9)


@scenario("1-0/2.5.6.outgoing-id-arbitrary", needs={"address"})
@broken_by(
    "refuses the last id", rejects(Begin, AmqpError.INVALID_FIELD, when=lambda s: s.next_outgoing_id == LAST)
)
@broken_by("loses messages behind 2^31", ignores(Transfer, skip=1))
def a_session_begins_with_any_transfer_id(container: Container) -> None:
    """On sessions that begin with 1, 2^31 and 2^32-1 a message is settled as on one that begins with 0."""
    address, connection = container.address(), container.alive()
    container.stocked(b"control")
    for first in (1, 1 << 31, LAST):
        with connection.works("a message is settled whatever the first transfer-id"):
            session = connection.begin(next_outgoing_id=first)
            session.sender(address).delivers(b"x")
            session.end()


@scenario("1-0/2.5.6.transfer-ids-wrap", needs={"address"})
@broken_by("counts on", rewrites(Flow, when=lambda said: said.next_incoming_id == 1, next_incoming_id=LAST))
@broken_by("leaves out zero", rewrites(Flow, next_incoming_id=lambda number: 2 if number == 1 else number))
def behind_the_last_transfer_id_comes_zero(container: Container) -> None:
    """Behind three messages from transfer-id 2^32-2 on the server expects 1."""
    address = container.address()
    session = container.session(next_outgoing_id=LAST - 1)
    session.sender(address).delivers(b"one", b"two", b"three")
    expected = session.stated(address).next_incoming_id
    session.judge("1 as next-incoming-id", f"{expected} as next-incoming-id", expected == 1)


@scenario("1-0/2.5.6.incoming-id-follows-a-flow", needs={"address"})
@broken_by("keeps its own count", forwards(Flow, next_outgoing_id=0))
@broken_by("looks at no flow of the session", ignores(Flow))
def what_a_flow_says_is_expected_next(container: Container) -> None:
    """A flow whose next-outgoing-id is seven further moves what the server expects to it."""
    address = container.address()
    session = container.session()
    session.stated(address)
    session.next_outgoing_id += 7
    session.send(session.flow())
    expected = session.stated(address).next_incoming_id
    session.judge("7 as next-incoming-id", f"{expected} as next-incoming-id", expected == 7)


# -- windows -------------------------------------------------------------------------------------------


@scenario("1-0/2.5.6.incoming-window-kept", needs={"address"})
@broken_by("takes every window for a large one", forwards(Flow, incoming_window=MANY))
@broken_by("never goes on", ignores(Flow, skip=1))
def no_more_transfers_come_than_the_window_has_room_for(container: Container) -> None:
    """Of five messages two come with a window of two, and two more when it opens for two more."""
    address = container.stocked(b"1", b"2", b"3", b"4", b"5")
    session = container.session(incoming_window=2)
    session.receiver(address).grants(10, incoming_window=2)
    comes(session, 2)
    session.send(session.flow(incoming_window=2))
    comes(session, 2)


@scenario("1-0/2.5.6.multi-frame-counts-frames", needs={"address"})
@broken_by("counts messages", forwards(Flow, incoming_window=MANY))
@broken_by("never goes on", ignores(Flow, skip=1))
def a_message_takes_as_much_window_as_it_has_frames(container: Container) -> None:
    """Of a message of 3,000 octets in frames of 512 two transfers come with a window of two."""
    address = container.stocked(b"x" * 3000)
    connection = container.alive(max_frame_size=512)
    session = connection.begin(incoming_window=2)
    receiver = session.receiver(address)
    receiver.grants(1, incoming_window=2)
    comes(session, 2)
    session.send(session.flow(incoming_window=MANY))
    with connection.works("the rest of the message comes once the window is open"):
        receiver.waits(1)


@scenario("1-0/2.5.6.window-computed", needs={"address"})
@broken_by("counts from where it is", forwards(Flow, next_incoming_id=lambda number: number and number + 2))
@broken_by("takes every window for a large one", forwards(Flow, incoming_window=MANY))
@broken_by("never goes on", ignores(Flow, skip=1))
def the_window_is_counted_from_what_is_expected(container: Container) -> None:
    """Behind four transfers a flow that expects the third, with a window of three, has room for one."""
    address = container.stocked(*(b"%d" % number for number in range(6)))
    session = container.session(incoming_window=4)
    session.receiver(address).grants(10, incoming_window=4)
    comes(session, 4)
    session.send(session.flow(next_incoming_id=session.next_incoming_id + -2, incoming_window=3))
    comes(session, 1)


@scenario("1-0/2.5.6.window-from-initial-id", needs={"address"})
@broken_by("takes every window for a large one", forwards(Flow, incoming_window=MANY))
@broken_by("sends nothing without an id", ignores(Flow, when=lambda said: said.next_incoming_id is None))
def without_an_id_the_window_is_counted_from_the_first(container: Container) -> None:
    """A flow without next-incoming-id and a window of two lets two of three messages through."""
    address = container.stocked(b"1", b"2", b"3")
    session = container.session(incoming_window=0)
    session.receiver(address).grants(10, next_incoming_id=None, incoming_window=2)
    seen = session.expect(
        Transfer, session_ended().under("the id must be set by who has seen the begin (2.7.4)")
    )
    if not isinstance(seen, End):
        comes(session, 1)


@scenario("1-0/2.5.6.window-zero", needs={"address"})
@broken_by("takes every window for a large one", forwards(Flow, incoming_window=MANY))
@broken_by("attaches nothing either", ignores(Attach, when=lambda said: said.role, skip=1))
@broken_by("never goes on", ignores(Flow, skip=1))
def a_window_of_zero_holds_up_transfers_alone(container: Container) -> None:
    """With a window of zero an attach is answered and no transfer comes; it comes once the window opens."""
    address = container.stocked(b"x")
    session = container.session(incoming_window=0)
    session.receiver(address).grants(1, incoming_window=0)
    session.goes_on(address)
    session.stays("no transfer", Transfer)
    session.send(session.flow(incoming_window=10))
    session.expect(Transfer)
