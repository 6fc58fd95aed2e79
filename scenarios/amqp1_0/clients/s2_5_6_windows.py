"""2.5.6 Session Flow Control, of clients: transfer-ids and windows."""

from dataclasses import replace

from harness.amqp1_0.broken.deviations import Interposer, forwards, rewrites, withholds
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import session_ended
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.server.session import JudgedSender, JudgedSession
from harness.amqp1_0.wire.frames import MIN_MAX_FRAME_SIZE
from harness.amqp1_0.wire.performatives import Begin, End, Flow, Open, Transfer
from harness.amqp1_0.wire.serial import SIZE
from scenarios.amqp1_0.talk import CLIENT, arrives, comes, hears, stated
from scenarios.registry import broken_by, scenario

MANY = 100
LAST = SIZE - 1


def window(size: int) -> Interposer:
    """States an incoming-window of so many transfers, in begin and flows."""
    return rewrites(Begin, incoming_window=size) + rewrites(Flow, incoming_window=size)


LARGE = window(MANY)


def without_id(said: Flow) -> bool:
    return said.next_incoming_id is None


# -- what the client may send --------------------------------------------------------------------------


@scenario("1-0/2.5.6.incoming-window-kept", role=CLIENT)
@broken_by("takes every window for a large one", LARGE, CLIENT)
@broken_by("never goes on", withholds(Flow, skip=1), CLIENT)
def a_client_sends_what_the_window_has_room_for(client: Client) -> None:
    """Of five messages two go with a window of two, and two more when it opens for two more."""
    session = client.session(window(2))
    sender = session.sender()
    sender.hands_over(count=5)
    comes(sender, 2)
    session.server_flows(incoming_window=2)
    comes(sender, 2)


@scenario("1-0/2.5.6.multi-frame-counts-frames", role=CLIENT)
@broken_by("counts messages", LARGE, CLIENT)
@broken_by("never goes on", withholds(Flow, skip=1), CLIENT)
def a_message_of_a_client_takes_as_much_window_as_it_has_frames(client: Client) -> None:
    """Of a message of 3,000 octets in frames of 512 two transfers go with a window of two."""
    session = client.session(rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE), window(2))
    sender = session.sender()
    sender.hands_over({"fill": 3000})
    comes(sender, 2)
    session.server_flows(incoming_window=MANY)
    while sender.expect(Transfer).more:
        pass


def behind_four(client: Client) -> JudgedSender:
    """Give a link on which the client has sent four of six messages, with a window of four."""
    sender = client.session(window(4)).sender()
    sender.hands_over(count=6)
    comes(sender, 4)
    return sender


@scenario("1-0/2.5.6.window-computed", role=CLIENT)
@broken_by("takes every window for a large one", LARGE, CLIENT)
@broken_by("counts from where it is", rewrites(Flow, skip=1, next_incoming_id=lambda it: it + 2), CLIENT)
@broken_by("never goes on", withholds(Flow, skip=1), CLIENT)
def a_client_counts_the_window_from_what_is_expected(client: Client) -> None:
    """Behind four transfers a flow that expects the third, with a window of three, has room for one."""
    sender = behind_four(client)
    session = sender.session
    session.server_flows(next_incoming_id=session.server.next_incoming_id + -2, incoming_window=3)
    comes(sender, 1)


@scenario("1-0/2.5.6.window-from-initial-id", role=CLIENT)
@broken_by("takes every window for a large one", LARGE, CLIENT)
@broken_by("sends nothing without an id", withholds(Flow, when=without_id), CLIENT)
def a_client_counts_the_window_from_its_first_id(client: Client) -> None:
    """A flow without next-incoming-id and a window of two lets two of three messages through."""
    session = client.session(window(0))
    sender = session.sender()
    sender.hands_over(count=3)
    session.server_flows(next_incoming_id=None, incoming_window=2)
    seen = sender.expect(
        Transfer, session_ended().under("the id must be set by who has seen the begin (2.7.4)")
    )
    if not isinstance(seen, End):
        comes(sender, 1)


@scenario("1-0/2.5.6.window-zero", role=CLIENT)
@broken_by("takes every window for a large one", LARGE, CLIENT)
@broken_by("never goes on", withholds(Flow, skip=1), CLIENT)
def a_window_of_zero_holds_up_transfers_of_a_client(client: Client) -> None:
    """With a window of zero another link is attached and no transfer goes; it goes once the window opens."""
    session = client.session(window(0))
    sender = session.sender()
    sender.hands_over()
    session.receiver()
    sender.connection.sends_no(Transfer)
    client.judge("no transfer", "a transfer", not sender.transfers())  # before the attach, too
    session.server_flows(incoming_window=10)
    sender.expect(Transfer)


# -- what the client counts ----------------------------------------------------------------------------


def expects(client: Client, number: int, stated: Flow) -> None:
    """Judge the next-incoming-id of a flow of the client."""
    said = stated.next_incoming_id
    client.judge(f"{number} as next-incoming-id", f"{said} as next-incoming-id", said == number)


@scenario("1-0/2.5.6.next-incoming-id-counts", role=CLIENT)
@broken_by("counts messages", forwards(Flow, next_incoming_id=lambda it: 8 if it == 9 else it), CLIENT)
@broken_by("counts from zero", forwards(Flow, next_incoming_id=lambda number: (number - 5) % SIZE), CLIENT)
def a_client_counts_transfers_by_frames(client: Client) -> None:
    """Behind three messages in four transfers the client expects the transfer-id that is four further."""
    session = client.session(policy=replace(LENIENT, initial_outgoing_id=5))
    receiver = session.receiver(credit=10)
    octets = message(b"two")
    receiver.server_transfers(message(b"one"))
    receiver.server_transfers(octets[:4], more=True)
    receiver.server_transfers(octets[4:])
    receiver.server_transfers(message(b"three"))
    arrives(receiver, "one", "two", "three")
    expects(client, 9, stated(receiver))


@scenario("1-0/2.5.6.outgoing-id-arbitrary", role=CLIENT)
@broken_by("refuses the last id", withholds(Begin, when=lambda said: said.next_outgoing_id == LAST), CLIENT)
@broken_by("loses messages", withholds(Transfer), CLIENT)
def a_client_takes_any_first_transfer_id(client: Client) -> None:
    """On sessions that the server begins with 1, 2^31 and 2^32-1 a message arrives."""
    for first in (1, 1 << 31, LAST):
        connection = client.connection(policy=replace(LENIENT, initial_outgoing_id=first))
        session = connection.tries_session()
        client.judge("a session", getattr(session, "told", ""), isinstance(session, JudgedSession))
        assert isinstance(session, JudgedSession)
        receiver = session.receiver(credit=1)
        receiver.server_sends(message(b"x"))
        arrives(receiver, "x")


@scenario("1-0/2.5.6.transfer-ids-wrap", role=CLIENT)
@broken_by("leaves out zero", forwards(Flow, next_incoming_id=lambda it: 2 if it == 1 else it), CLIENT)
def a_client_counts_over_the_last_transfer_id(client: Client) -> None:
    """Behind three messages from transfer-id 2^32-2 on the client expects 1."""
    session = client.session(policy=replace(LENIENT, initial_outgoing_id=LAST - 1))
    receiver = session.receiver(credit=3)
    receiver.server_sends(message(b"1"), message(b"2"), message(b"3"))
    arrives(receiver, "1", "2", "3")
    expects(client, 1, stated(receiver))


@scenario("1-0/2.5.6.incoming-id-follows-a-flow", role=CLIENT)
@broken_by("keeps its own count", withholds(Flow, when=lambda said: said.next_outgoing_id == 7), CLIENT)
def a_client_expects_next_what_a_flow_says(client: Client) -> None:
    """A flow whose next-outgoing-id is seven further moves what the client expects to it."""
    session = client.session()
    receiver = session.receiver(credit=1)
    session.server_flows(next_outgoing_id=7)
    hears(session)
    expects(client, 7, stated(receiver))
