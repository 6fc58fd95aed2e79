"""3.2.9 CONNECTION CLOSE Command: a handshake, and what is closed with the connection."""

from harness.amqp_fast.broken.deviations import Fault, adds, ignores, replaces, rewrites
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import (
    Received,
    closed,
    silence,
    stream_ends,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.client.whole import Whole
from harness.amqp_fast.peer.events import ConnectionState
from harness.amqp_fast.peer.refusals import CONNECTION, close_connection, refuses
from harness.amqp_fast.peer.tables.connection import end
from harness.amqp_fast.peer.traffic import route
from harness.amqp_fast.peer.turn import Reply
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection
from harness.play.expect import Inconclusive, Outcome
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp_fast.connections.negotiation import FATAL, TUNING
from scenarios.amqp_fast.connections.s3_2_6_connection_open import is_code, is_readable
from scenarios.registry import broken_by, scenario, watch

DURING = "fast/3.2.1.close-confirmed"
CLOSE = Connection.Close(OK, "done")
NEVER_EXPECTED = Connection.Challenge(1, "PLAIN")
"""What no server expects: it closes the connection."""
REFUSED = "never expected: is refused"
CLOSES = refuses(503, "never expected", CONNECTION)


def commits(turn: AnyTurn) -> None:
    """Hands on what open transactions have sent."""
    host = turn.peer.host(b"")
    assert host is not None
    sent = [each for channel in turn.connection.channels.values() for each in channel.sent]
    for service, name, message in sent:
        route(turn.peer, host, service, name, message)


def keeps(turn: AnyTurn) -> None:
    """Forgets what was delivered and not acknowledged."""
    for channel in turn.connection.channels.values():
        channel.unacknowledged.clear()


def says_close(_: AnyTurn) -> Reply:
    """Say close because of an error."""
    return (Connection.Close(503),)


GOES_ON = Fault.changes(REFUSED, effects=(), answer=says_close)
"""Says CLOSE, and works on."""


# -- when we close -------------------------------------------------------------------------------------


def closes(connection: Whole, *others: Outcome) -> None:
    """Judge that CLOSE is answered by CLOSE."""
    connection.tries(CLOSE, Connection.Close, *others)


@scenario("fast/3.2.9.close-at-any-time")
@broken_by("answers once it is open", Fault.changes("close: is answered", state=ConnectionState.OPEN))
@broken_by("answers before it is open", Fault.changes("close: is answered", state=ConnectionState.TUNED))
@broken_by("never answers", ignores(Connection.Close))
def close_is_answered_at_any_time(server: Server) -> None:
    """CLOSE in place of RESPONSE, TUNE and OPEN, behind OPEN, and between two fragments, is answered."""
    ends = stream_ends().under(TUNING)
    closes(server.begun(), ends)
    closes(server.tuned(), ends)
    tuned = server.tuned()
    tuned.send(Connection.Tune({"FRAME_MAX": 1024}))
    closes(tuned, ends)
    closes(server.connection())
    queue, used = server.queue(), server.handle(new_connection=True)
    closes(used.connection)
    torn = server.handle(new_connection=True)
    first, *_ = torn.carries(queue, b"x" * 100, most=64)
    torn.send(first)
    closes(torn.connection)


@scenario("fast/3.2.9.close-answered")
@broken_by("does not answer", Fault.changes("close: is answered", answer=None))
@broken_by(
    "closes the channels alone", replaces(Connection.Close, Channel.Close(1, OK), Channel.Close(2, OK))
)
def close_is_answered_with_all_that_is_open(server: Server) -> None:
    """CLOSE is answered where two channels, a handle and a consumer are open."""
    queue, connection = server.queue(), server.connection()
    connection.channel().handle().consume(queue)
    connection.channel()
    closes(connection)


@scenario("fast/3.2.9.close-rolls-back")
@broken_by("commits instead", Fault.changes("close: is answered", commits, close_connection))
def close_rolls_back(server: Server) -> None:
    """What was sent in a transaction that is open at CLOSE is not delivered."""
    queue = server.queue()
    handle = in_transaction(server, queue)
    closes(handle.connection)
    is_empty(server, queue)


def in_transaction(server: Server, queue: str) -> FastHandle:
    """Commit a message, which is delivered, and send another one; give the handle."""
    handle = server.connection().channel(transacted=True).handle()
    handle.send(*handle.carries(queue, b"committed"))
    handle.channel.commit()
    taken = server.handle().consume(queue, no_ack=True)
    taken.messages(1)
    taken.close()
    handle.send(*handle.carries(queue, b"not committed"))
    return handle


def is_empty(server: Server, queue: str) -> None:
    """Judge that a queue has no message: one that is sent then is the first to come."""
    handle = server.handle()
    handle.publish(queue, b"behind")
    handle.consume(queue, no_ack=True).hears(b"behind")


@scenario("fast/3.2.9.close-closes-destinations")
@broken_by("keeps what was not acknowledged", Fault.changes("close: is answered", keeps, close_connection))
def close_gives_back_what_was_taken(server: Server) -> None:
    """A message that was not acknowledged at CLOSE is delivered again, and one that is sent then, too."""
    queue = server.queue(b"taken")
    taker = server.handle(new_connection=True).consume(queue)
    taker.messages(1)
    closes(taker.connection)
    other = server.handle()
    other.publish(queue, b"later")
    other.consume(queue).hears(b"taken", b"later")


# -- what the server says ------------------------------------------------------------------------------


@watch(
    "fast/3.2.9.close-code-of-three-digits",
    during="fast/3.2.1.close-confirmed",
    looks_at=came(Connection.Close),
)
@broken_by("has none", rewrites(Connection.Close, reply_code=0))
@broken_by("begins with 1", rewrites(Connection.Close, reply_code=100))
def the_code_of_a_close_has_three_digits(each: Passage) -> Found:
    """The code of CONNECTION CLOSE is from 200 to 599."""
    return is_code(each)


@watch("fast/3.2.9.close-text-readable", during=DURING, looks_at=came(Connection.Close))
@broken_by("writes another alphabet", rewrites(Connection.Close, reply_text=b"\xdcber"))
@broken_by("ends it with an octet of zero", rewrites(Connection.Close, reply_text=b"Ok\0"))
def the_text_of_a_close_can_be_read(each: Passage) -> Found:
    """The text of CONNECTION CLOSE is UTF-8 without octets of zero."""
    return is_readable(each)


class Ended(State):
    """Whether the server has sent CLOSE."""

    closed = False


@watch(
    "fast/3.2.9.close-is-last",
    during="fast/3.2.9.close-answered",
    looks_at=came(Frame),
    start=Ended,
    gap=Gaps.STOPS,
)
@broken_by("says more", adds(Connection.Close, Connection.Ping()))
@broken_by("closes the channels behind it", adds(Connection.Close, Channel.Close(1, OK)))
def nothing_but_close_follows_a_close(ended: Ended, each: Passage) -> Found:
    """Behind CONNECTION CLOSE of the server comes nothing but another one."""
    is_close = isinstance(each.said, Connection.Close)
    if not ended.closed:
        ended.closed = is_close
        return True if is_close else None
    told = each.said.full_name if each.said else "an unreadable command"
    return is_close or f"{told} behind CONNECTION CLOSE, at {each.at:.4f} s"


# -- when the server closes ----------------------------------------------------------------------------


def closing(connection: Whole) -> None:
    """Have the server close a connection, and do not answer yet. Raises Inconclusive where it does not."""
    connection.send(NEVER_EXPECTED)
    seen = connection.link.next(0, connection.context.patience.close)
    if not (isinstance(seen, Received) and isinstance(seen.command, Connection.Close)):
        raise Inconclusive("the server does not say CLOSE, which other rules judge")


@scenario("fast/3.2.9.close-by-close")
@broken_by("closes as if all were well", rewrites(Connection.Close, reply_code=OK))
@broken_by("closes the channel", replaces(Connection.Close, Channel.Close(1, 503)))
def the_server_closes_by_close(server: Server) -> None:
    """What is never expected is answered by CLOSE with an error before the network connection ends."""
    connection = server.connection()
    connection.alive()
    connection.tries(NEVER_EXPECTED, closed(Connection.Close), stream_ends().under(FATAL))


@scenario("fast/3.2.9.waits-for-our-close")
@broken_by("does not wait", Fault.changes(REFUSED, close_connection, end, answer=says_close))
def the_server_waits_for_our_close(server: Server) -> None:
    """Between the CLOSE of the server and ours the network connection stays."""
    connection = server.connection()
    closing(connection)
    began = connection.link.now()
    seen = connection.link.next(0, server.context.patience.quiet)
    connection.link.hold(seen, [silence()], began)
    connection.send(CLOSE)


@scenario("fast/3.2.9.discards-while-closing")
@broken_by("goes on", GOES_ON)
def the_server_discards_what_comes_while_it_closes(server: Server) -> None:
    """A message behind the CLOSE of the server is not delivered."""
    queue = server.queue()
    handle = server.handle(new_connection=True)
    handle.publish(queue, b"control")
    closing(handle.connection)
    handle.send(*handle.carries(queue, b"discarded"), CLOSE)
    other = server.handle()
    other.publish(queue, b"behind")
    other.consume(queue, no_ack=True).hears(b"control", b"behind")


@scenario("fast/3.2.9.answers-with-another-close")
@broken_by("says nothing more", Fault.drops("closing: insists"))
@broken_by("opens the channel", GOES_ON)
@broken_by("does not end", Fault.drops("closing: ends with close"))
def the_server_insists_on_closing(server: Server) -> None:
    """CHANNEL OPEN behind the CLOSE of the server is answered by another CLOSE; ours ends it then."""
    connection = server.connection()
    closing(connection)
    connection.send(Channel.Open(1, connection.tag()))
    connection.expect(Connection.Close, acknowledge=False)
    connection.send(CLOSE)
    connection.expect(stream_ends())


@scenario("fast/3.2.9.ends-after-our-close")
@broken_by("stays", Fault.drops("closing: ends with close"))
def the_server_ends_the_network_connection(server: Server) -> None:
    """Behind our answer to the CLOSE of the server the network connection ends."""
    connection = server.connection()
    closing(connection)
    connection.send(CLOSE)
    connection.expect(stream_ends())


@scenario("fast/3.2.9.rolls-back-when-it-closes")
@broken_by("commits instead", Fault.changes(REFUSED, commits, CLOSES))
@broken_by("keeps what was not acknowledged", Fault.changes(REFUSED, keeps, CLOSES))
def the_server_rolls_back_when_it_closes(server: Server) -> None:
    """What was sent in a transaction is not delivered, what was taken is, when the server has closed."""
    queue, other = server.queue(), server.queue(b"taken")
    handle = in_transaction(server, queue)
    taker = handle.connection.channel().handle().consume(other)
    taker.messages(1)
    closing(handle.connection)
    handle.connection.send(CLOSE)
    handle.connection.expect(stream_ends())
    is_empty(server, queue)
    server.handle().consume(other).hears(b"taken")
