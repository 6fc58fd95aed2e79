"""2.4.6 Connection States: what is heard, ignored and said in each."""

from collections.abc import Iterator
from itertools import islice

from harness.amqp1_0.broken.deviations import (
    answers,
    changes,
    drops,
    ends_by,
    follows,
    of_client,
    rejects,
    swaps,
)
from harness.amqp1_0.broken.faults import answers_all_the_same, does, end_stream, open_again
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    Refusal,
    answered,
    closed,
    closed_without_error,
    goes_on,
    header,
    refused,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.peer import strategies
from harness.amqp1_0.peer.events import Entered, SendingError, Undecodable
from harness.amqp1_0.peer.tables.connection import end_stream as half_close
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, FrameReader, Unit, empty_frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, End, Open
from harness.peers.rows import always
from harness.play.link import Closed
from harness.play.watching import Found, Gaps, came, went
from harness.wire.journal import Direction
from scenarios.amqp1_0.connections.s2_4_3_closing_a_connection import (
    DISCARDING,
    MAY_CARRY_ONE,
    NO_PERFORMATIVE,
    OPENED,
    REFUSAL,
    closed_by_the_server,
)
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

BEGUN = Begin(0, 0, 1, 1)
WHO_ENDS = "the server leaves it to us to close the TCP connection"
TWICE = "that nothing follows its close is judged by 1-0/2.4.3.close-is-last"
IT_ENDS = "the server closes the TCP connection"


def first_of_segment(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Forgets what stands behind the first frame of a segment."""
    yield from islice(strategies.cut(reader, octets), 1)


# -- opened --------------------------------------------------------------------------------------------


@scenario("1-0/2.4.6.closed-before-open-read")
@broken_by("forgets what stands behind the open", swaps(cut=first_of_segment))
@broken_by("closes two times", follows(Close, Close()))
@broken_by("does not open what is closed already", changes("open: is answered", answer=None))
def header_open_and_close_at_once(container: Container) -> None:
    """Header, open and close in a single write: header, open and close come back in this order."""
    container.secured().exchange_headers()
    connection = container.secured()
    connection.send(PROTOCOL_HEADER, connection.the_open(), Close())
    connection.expect_each(header(), Open)
    connection.expect(closed_without_error(), closed().under(MAY_CARRY_ONE))
    connection.nothing_more()


@scenario("1-0/2.4.6.second-open-not-obeyed")
@broken_by("opens again", changes("open: refuses a second one", open_again, answer=None))
@broken_by("answers every open", answers(Open, Open("faulty"), skip=1))
def a_second_open_is_not_answered_by_an_open(container: Container) -> None:
    """After the opens another one comes with another max-frame-size: a close with an error answers it."""
    connection = container.connection().fence()
    connection.send(connection.the_open(max_frame_size=1024))
    connection.gives_up(
        *refused(Refusal.CONDITION, AmqpError.ILLEGAL_STATE, AmqpError.NOT_ALLOWED),
        closed_without_error().under("that a close says why is judged by 1-0/2.4.3.close-carries-reason"),
        stream_ended().under("that a close comes first is judged by 1-0/2.4.3.close-before-closing"),
        goes_on().under("figure 2.24 lists any frame as a legal receive in OPENED: it may be ignored"),
    )


@watch(
    "1-0/2.4.6.open-sent-once",
    during="1-0/2.2.supported-version-proceeds",
    looks_at=came(Open) + went(Open),
    whole=True,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("opens twice", of_client(follows(Open, Open("again"))), Role.CLIENT)
@broken_by("opens twice", follows(Open, Open("again")))
@broken_by("opens again behind its begin", follows(Begin, Open("again", max_frame_size=1024)))
@broken_by("opens again for good measure", does(OPENED, Entered, always, open_again))
def the_server_opens_once(opens: list[Passage]) -> Iterator[Found]:
    """On every connection on which we sent one open at most the server has sent no more than one."""
    theirs = sum(each.direction is Direction.RECEIVED for each in opens)
    if theirs and len(opens) <= theirs + 1:
        yield theirs == 1 or f"{theirs} opens of the server"


# -- closed by us --------------------------------------------------------------------------------------


@scenario("1-0/2.4.6.frames-after-close-ignored")
@broken_by("obeys what follows the close", answers(Begin, BEGUN, skip=1))
@broken_by("does not hear the close", does(OPENED, Close))
def a_begin_behind_our_close_is_not_answered(container: Container) -> None:
    """A close and a begin in a single write: the server's close comes, and no begin."""
    connection = container.connection().fence()
    connection.send(Close(), the_begin())
    connection.expect(closed_without_error(), closed().under(MAY_CARRY_ONE))
    connection.nothing_more()


@scenario("1-0/2.4.6.end-closes-tcp", slow=True)
@broken_by("leaves the stream open", ends_by("never"))
@broken_by("does nothing in END", changes("END: TCP Close", effects=()))
@broken_by(
    "has no more ears for our close", drops("DISCARDING: R:CLOSE", "close: waiting for the client's is over")
)
def who_closes_the_tcp_connection(container: Container) -> None:
    """When both closes have been sent, ours first and then the server's first: whether the server ends its
    stream before we end ours is recorded.
    """
    orderly = container.connection()
    orderly.ask(Close(), Close)
    refused_one = closed_by_the_server(container)
    refused_one.send(Close())
    for connection, first in ((refused_one, "it"), (orderly, "we")):
        container.note(f"when {first} closed first {whether_it_ends(connection)}")


def whether_it_ends(connection: AmqpConnection) -> str:
    """Record whether the server ends its stream behind both closes."""
    patience, again = connection.context.patience.answer, answered(Close).recorded(TWICE)
    at_last = (stream_ended().recorded(IT_ENDS), silence().recorded(WHO_ENDS))
    if isinstance(seen := connection.within(patience, *at_last, again), Close):
        seen = connection.within(patience, *at_last)
    return IT_ENDS if isinstance(seen, Closed) else WHO_ENDS


# -- closed by the server ------------------------------------------------------------------------------


@scenario("1-0/2.4.6.half-close-for-writing")
@broken_by("ends its stream at once", does(DISCARDING, Entered, always, end_stream))
@broken_by("shuts its side for writing", does(DISCARDING, Entered, always, half_close))
def whether_the_stream_ends_before_our_close(container: Container) -> None:
    """The server closes because of an error: whether its stream ends before our close is recorded."""
    closed_by_the_server(container).within(
        container.context.patience.quiet,
        stream_ended().recorded("the write side may be shut behind the close"),
        silence().recorded("the write side may stay open behind the close"),
    )


@scenario("1-0/2.4.6.discarding")
@broken_by("answers a begin", answers(Begin, BEGUN, skip=1))
@broken_by("serves a closed connection", answers_all_the_same(DISCARDING, Begin, BEGUN))
@broken_by(
    "complains about everything",
    answers_all_the_same(DISCARDING, Undecodable, REFUSAL, of=SendingError),
)
@broken_by("refuses a begin behind its close", rejects(Begin, AmqpError.ILLEGAL_STATE, skip=1))
@broken_by("ends the sessions of a closed connection", answers_all_the_same(DISCARDING, End, End()))
def what_follows_the_servers_close_is_discarded(container: Container) -> None:
    """The server closes because of an error: a begin, the end of a session, an empty frame and what is no
    performative are met by nothing. Our close is not sent: up to it everything is discarded.
    """
    connection = closed_by_the_server(container, in_session=True)
    connection.send(the_begin(), empty_frame(), NO_PERFORMATIVE)
    connection.send(End(), channel=min(1, connection.partner.channel_max))
    connection.nothing_more()
