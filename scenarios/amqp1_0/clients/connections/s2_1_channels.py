"""2.1 to 2.5 of clients: what a stream is cut into, and sessions that have channels and ids of their own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from harness.amqp1_0.broken.deviations import (
    Interposer,
    follows,
    forwards,
    moves_frames,
    of_client,
    on_channels,
    rewrites,
    withholds,
    withholds_frames,
)
from harness.amqp1_0.broken.provocations import in_pieces
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.transcript import LIMIT, performative_of
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.server.session import JudgedReceiver, JudgedSession
from harness.amqp1_0.wire.frames import AMQP, FRAME_HEADER, Frame, FrameReader, Unit
from harness.amqp1_0.wire.performatives import Attach, Begin, Close, End, Flow, Open, SaslInit, SaslOutcome
from harness.play.expect import Inapplicable
from harness.targets.client.ears import Ears, loses_pieces
from scenarios.amqp1_0.clients.s2_5_6_windows import expects
from scenarios.amqp1_0.grammar.clients import lives
from scenarios.amqp1_0.talk import CLIENT, arrives, stated
from scenarios.registry import broken_by, scenario

PIECES = (1, 13)
"""Octets that go at once: alone, and so many that frames begin and end anywhere."""
CHANNEL = 0x0102
"""A channel whose two octets differ."""
HIGHEST_FIRST: Final = replace(LENIENT, outgoing_channel="highest", channel_max=None)
"""A server that has its sessions on the highest channels that it may use, and limits none."""
OPENS_FIRST: Final = replace(LENIENT, open="first")
"""A server that does not wait for the client's open."""
ONE_CHANNEL = "the client takes channel 0 only"


def speaks_first(client: Client) -> Policy:
    """Give a server that says header and open at once, in the layers that the client uses."""
    secured = client.connection().sent(SaslInit)
    return replace(OPENS_FIRST, header="at once", layers="either" if secured else "bare")


def forgets_behind(met: Callable[[Unit], bool]) -> Ears:
    """Forgets what comes at once with something, behind it."""

    def heard(octets: bytes) -> bytes:
        kept = b""
        for raw, unit in FrameReader(limit=LIMIT).feed(octets):
            kept += raw
            if met(unit):
                return kept
        return octets

    return Ears(heard)


def ends_sasl(unit: Unit) -> bool:
    return isinstance(performative_of(unit), SaslOutcome)


@scenario("1-0/2.1.2.byte-stream", slow=True, role=CLIENT)
@broken_by("loses what is less than a frame header", loses_pieces(FRAME_HEADER), CLIENT)
@broken_by("loses what comes at once with the end of SASL", forgets_behind(ends_sasl), CLIENT)
def segments_have_no_meaning_to_a_client(client: Client) -> None:
    """With all that the server says octet by octet, or in pieces of 13 octets, all goes as ever; so it does
    with header and open of a server that does not wait in one write, with the end of SASL where that is used.
    """
    lives(client)
    with client.works("all goes as ever"):
        lives(client, policy=speaks_first(client))
    for octets in PIECES:
        with client.works("all goes as ever"):
            lives(client, in_pieces(octets))


# -- channels ------------------------------------------------------------------------------------------


def highest(client: Client) -> int:
    """Give the highest channel that the client takes. Raises Inapplicable where it is 0."""
    channel = int(client.connection().opened.channel_max)
    if not channel:
        raise Inapplicable(ONE_CHANNEL)
    return channel


def carries_a_message(session: JudgedSession) -> None:
    """Have the client send a message on a session, which the server accepts, and end it."""
    session.sender().send()
    session.end()


@scenario("1-0/2.3.2.channel-octets", role=CLIENT)
@broken_by("reads the lower octet first", moves_frames(on_channels(1), channel=0xFF00), CLIENT)
@broken_by("hears channel 0 alone", withholds_frames(on_channels(1)), CLIENT)
def a_client_reads_the_channel_in_network_order(client: Client) -> None:
    """With the server's session on channel 0x0102, or on the client's highest, all goes as ever."""
    channel = min(CHANNEL, highest(client))
    connection = client.connection(forwards(Open, channel_max=channel), policy=HIGHEST_FIRST)
    with client.works("a session on that channel"):
        carries_a_message(connection.session())


def is_of_sessions(frame: Frame) -> bool:
    said = performative_of(frame)
    return frame.type == AMQP and said is not None and not isinstance(said, Open | Close)


def _from(channel: int, to: int) -> Interposer:
    return moves_frames(lambda frame: is_of_sessions(frame) and frame.channel == channel, channel=to)


CROSSED: Final = _from(0, 1) + _from(1, 0)
"""Has on channel 1 what it would have on channel 0, and the other way round."""


@scenario("1-0/2.4.channels-per-direction", role=CLIENT)
@broken_by("takes equal numbers for granted", rewrites(Begin, remote_channel=lambda own: 1 - own), CLIENT)
@broken_by("hears channel 0 alone", withholds_frames(on_channels(1)), CLIENT)
def channels_of_a_client_run_one_way(client: Client) -> None:
    """The session on the client's channel 0 is on the server's channel 1, and that on 1 on 0: both serve."""
    highest(client)
    connection = client.connection(CROSSED)
    with client.works("two sessions on channels of other numbers"):
        sessions = [connection.session() for _ in range(2)]
        for each in sessions:
            carries_a_message(each)


# -- sessions ------------------------------------------------------------------------------------------


@scenario("1-0/2.1.2.sessions-independent", role=CLIENT)
@broken_by("has room for one session", withholds(Begin, skip=1), CLIENT)
@broken_by("ends the second with the first", follows(End, Frame(AMQP, 1, End().encode())), CLIENT)
def sessions_of_a_client_live_side_by_side(client: Client) -> None:
    """Of two sessions the first ends, by the client or by the server; the second carries a message then."""
    carries_a_message(client.session())
    highest(client)
    for who in ("client", "server"):
        connection = client.connection()
        with client.works("a session beside one that has ended"):
            first, second = connection.session(), connection.session()
            if who == "client":
                first.end()
            else:
                first.server_ends()
                connection.came(End)
            carries_a_message(second)


FROM_1000: Final = replace(LENIENT, initial_outgoing_id=1000)
"""A server whose sessions all count their transfers from the same number on."""


def _receives(session: JudgedSession, *texts: str) -> JudgedReceiver:
    """Have the client receive these messages on a session, which come on the server's handle 0."""
    receiver = session.receiver(credit=len(texts))
    receiver.server_sends(*(message(text.encode()) for text in texts))
    arrives(receiver, *texts)
    return receiver


@scenario("1-0/2.5.5.unmapped-forgets", role=CLIENT)
@broken_by("still has the handle", withholds(Attach, skip=1), CLIENT)
@broken_by("goes on counting", of_client(rewrites(Flow, next_incoming_id=lambda it: it + 2, skip=2)), CLIENT)
def a_client_has_forgotten_a_session_that_ended(client: Client) -> None:
    """Two messages come in a session, one in the next, on the same handle, with ids from 1000 on: a flow of
    the client then expects 1001.
    """
    connection = client.connection(policy=FROM_1000)
    old = connection.session()
    _receives(old, "one", "two")
    old.end()
    with client.works("a message in a session where another was"):
        receiver = _receives(connection.session(), "three")
    expects(client, 1001, stated(receiver))
