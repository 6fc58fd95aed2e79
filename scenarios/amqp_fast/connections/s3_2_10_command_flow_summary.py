"""3.2.10 Command Flow Summary: what a server expects, and when."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    hears,
    ignores,
    replaces,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.fakes import CHALLENGE, TUNE
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.link import Said
from harness.amqp_fast.client.outcomes import answered, silence, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.whole import Whole
from harness.amqp_fast.peer.events import ConnectionState
from harness.amqp_fast.peer.refusals import close_connection
from harness.amqp_fast.peer.tables.connection import end
from harness.amqp_fast.wire.frames import Initiation, RawFrame
from harness.amqp_fast.wire.tables import encode_table, short_string
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from scenarios.amqp_fast.connections.negotiation import (
    FATAL,
    OFFERS_AGAIN,
    TUNING,
    asked_again,
    asks_again_or_ends,
    does_not_open,
    granted,
    logs_in,
    opens,
    opens_in_time,
    serves,
    turned_away,
    turned_down,
)
from scenarios.amqp_fast.connections.s3_2_5_connection_tune import LEAST, STAYS, TAKES_ALL
from scenarios.amqp_fast.connections.s3_2_6_connection_open import KEEPS_NAMES
from scenarios.amqp_fast.connections.s3_2_9_connection_close import (
    CLOSE,
    closes,
    commits,
    in_transaction,
    is_empty,
    keeps,
)
from scenarios.registry import broken_by, scenario

NEVER = "never expected: is refused"
AGAIN = "open: again is refused"
EARLY = "negotiation: ends for what is not expected"
HANG_UP = "hang-up: ends all"
ASKS = Connection.Ping(respond=True)
REPLY = Connection.Reply(1, OK)
PUT_UP_WITH = Fault.changes(NEVER, effects=())
"""Does nothing about what is never expected."""


ALL_THE_SAME = "CONNECTION CLOSE may be said before the end, which nobody answers"


def confirmed(opening: Any) -> Connection.Reply:
    """Confirm an OPEN."""
    return Connection.Reply(opening.confirm_tag, OK)


def has_been_tuned(turn: AnyTurn) -> bool:
    """Say whether the client has named a limit."""
    return bool(turn.connection.frame_max < turn.peer.limits.frame)


def is_closed(connection: Whole, said: Said) -> None:
    """Judge that this closes an open connection."""
    connection.alive()
    connection.tries(said, *turned_down(FATAL))


# -- what is never expected ----------------------------------------------------------------------------


@scenario("fast/3.2.10.challenge-fatal")
@broken_by("puts up with it", PUT_UP_WITH)
@broken_by("puts up with it before", Fault.drops(EARLY))
@broken_by("answers it", answers(Connection.Challenge, CHALLENGE))
def a_challenge_closes_the_connection(server: Server) -> None:
    """CHALLENGE on an open connection, and in place of the RESPONSE, closes it."""
    is_closed(server.connection(), CHALLENGE)
    server.begun().tries(CHALLENGE, *turned_away())


@scenario("fast/3.2.10.reply-fatal")
@broken_by("puts up with it", PUT_UP_WITH)
@broken_by("puts up with it before", Fault.drops(EARLY))
@broken_by("answers it", answers(Connection.Reply, Connection.Ping(), REPLY))
def a_reply_closes_the_connection(server: Server) -> None:
    """CONNECTION REPLY on an open connection, and in place of the RESPONSE, closes it."""
    is_closed(server.connection(), REPLY)
    server.begun().tries(REPLY, *turned_away())


# -- RESPONSE ------------------------------------------------------------------------------------------


@scenario("fast/3.2.10.response-expected")
@broken_by("tunes again", answers(Connection.Response, TUNE, skip=1))
@broken_by("puts up with it", Fault.changes(AGAIN, effects=()))
def a_response_is_expected_behind_a_challenge_alone(server: Server) -> None:
    """RESPONSE behind TUNE, and on an open connection, closes it."""
    tuned = server.tuned()
    tuned.tries(tuned.response(), *turned_down(FATAL))
    connection = server.connection()
    is_closed(connection, connection.response())


@scenario("fast/3.2.10.sufficient-response-tuned")
@broken_by("does not answer", withholds(Connection.Tune))
@broken_by("opens at once", replaces(Connection.Tune, REPLY))
def a_sufficient_response_is_answered_by_tune(server: Server) -> None:
    """PLAIN with the right login and password is answered by TUNE."""
    logs_in(server.begun())


def is_empty_table(response: Any) -> bool:
    """Say whether a RESPONSE tells nothing."""
    return not response.responses


@scenario("fast/3.2.10.insufficient-response-challenged")
@broken_by("is content with it", answers(Connection.Response, TUNE, when=is_empty_table))
@broken_by("says nothing", ignores(Connection.Response, when=is_empty_table))
@broken_by("asks in vain", answers(Connection.Response, CHALLENGE, skip=1))
def an_insufficient_response_is_answered_by_a_challenge(server: Server) -> None:
    """An empty table is answered by another CHALLENGE, and the whole RESPONSE then by TUNE; or it ends."""
    server.tuned()
    connection = server.begun()
    asks_again_or_ends(connection, connection.response(responses={}))


@scenario("fast/3.2.10.response-not-understood")
@broken_by("tunes all the same", Fault.changes(EARLY, answer=lambda _: (TUNE,)))
@broken_by("takes any mechanism", hears(Connection.Response, mechanism=b"PLAIN"))
@broken_by("says that all is well", rewrites(Connection.Close, reply_code=OK))
def a_response_that_is_not_understood_is_closed(server: Server) -> None:
    """RESPONSE of an unknown mechanism, and one whose table ends within a value, is answered by CLOSE."""
    good = server.tuned().response()
    cut = encode_table(good.responses)[2:-1]
    unknown = good.replace(mechanism=b"X-NONE")
    malformed = RawFrame(
        bytes((good.code,)) + short_string(good.mechanism) + len(cut).to_bytes(2, "big") + cut
    )
    again = asked_again().under(OFFERS_AGAIN)
    server.begun().tries(unknown, *turned_down(), again)
    server.begun().tries(malformed, *turned_down())


# -- TUNE ----------------------------------------------------------------------------------------------


@scenario("fast/3.2.10.early-tune-refused")
@broken_by("puts up with it", Fault.drops(EARLY))
@broken_by("tunes for it", answers(Connection.Tune, TUNE))
def a_tune_before_that_of_the_server_is_refused(server: Server) -> None:
    """TUNE in front of the RESPONSE ends the connection."""
    server.tuned()
    connection = server.begun()
    connection.send(Connection.Tune(), connection.response())
    connection.expect(*turned_away())


@scenario("fast/3.2.10.late-tune-refused")
@broken_by("puts up with it", Fault.changes(AGAIN, effects=()))
@broken_by("tunes again", answers(Connection.Tune, TUNE))
def a_tune_on_an_open_connection_is_refused(server: Server) -> None:
    """TUNE behind OPEN closes the connection."""
    is_closed(server.connection(), Connection.Tune({"FRAME_MAX": LEAST}))


@scenario("fast/3.2.10.valid-tune-unanswered")
@broken_by("answers by another", takes(Connection.Tune, TUNE))
@broken_by("confirms it", takes(Connection.Tune, Connection.Reply(0, OK)))
def a_valid_tune_has_no_answer(server: Server) -> None:
    """Nothing comes behind TUNE before the REPLY to OPEN."""
    connection = server.tuned()
    connection.send(Connection.Tune({"FRAME_MAX": LEAST}))
    connection.link.listen(server.context.patience.quiet)
    opens(connection)


@scenario("fast/3.2.10.invalid-tune-closed")
@broken_by("takes what it is told", TAKES_ALL)
@broken_by("stays", STAYS)
@broken_by("says that all is well", rewrites(Connection.Close, reply_code=OK))
def an_invalid_tune_is_closed(server: Server) -> None:
    """FRAME_MAX 1023, one that is a string, and options that are cut short, are answered by CLOSE."""
    server.connection({"FRAME_MAX": LEAST})
    for options in ({"FRAME_MAX": LEAST - 1}, {"FRAME_MAX": b"1024"}, b"\x09FRAME_MAXI\0"):
        does_not_open(server.tuned(), Connection.Tune(options))


# -- PING and OPEN -------------------------------------------------------------------------------------


@scenario("fast/3.2.10.ping-expected")
@broken_by("answers once it is open", Fault.changes("ping: is answered", state=ConnectionState.OPEN))
@broken_by("answers before it is open", Fault.changes("ping: is answered", state=ConnectionState.TUNED))
@broken_by("closes for it", answers(Connection.Ping, Connection.Close(503)))
def a_ping_is_answered_at_any_time(server: Server) -> None:
    """PING is answered before and behind RESPONSE, TUNE, OPEN, and between fragments, and all goes on."""
    queue, connection = server.queue(), server.begun()
    connection.lives()
    connection.authenticate()
    connection.lives()
    connection.send(Connection.Tune({"FRAME_MAX": LEAST}))
    connection.lives()
    opens(connection)
    connection.lives()
    handle = connection.channel().handle()
    tag = connection.tag()
    first, *rest = handle.carries(queue, b"x" * 100, most=64, tag=tag)
    handle.send(first)
    connection.lives()
    handle.send(*rest)
    handle.expect(granted(Handle.Reply, tag))


@scenario("fast/3.2.10.open-expected")
@broken_by("wants a TUNE before", Fault.changes("open: is accepted", condition=has_been_tuned))
@broken_by("does not confirm", withholds(Connection.Reply))
def open_is_expected_behind_tune(server: Server) -> None:
    """OPEN is confirmed behind the TUNE of the server, and behind one of ours."""
    opens(server.tuned())
    opens(server.tuned(), Connection.Tune({"FRAME_MAX": LEAST}))


@scenario("fast/3.2.10.open-before-tune-refused")
@broken_by("opens for everybody", answers(Connection.Open, REPLY))
@broken_by("stays", Fault.drops(EARLY))
def open_before_tune_is_refused(server: Server) -> None:
    """OPEN in place of the RESPONSE, and in one write with the two octets, ends the connection."""
    server.connection()
    connection = server.begun()
    connection.tries(connection.opening(), *turned_away())
    hasty = server.socket()
    hasty.send(Initiation(), hasty.opening())
    hasty.control("the initiation", Connection.Challenge)
    hasty.expect(*turned_away())


@scenario("fast/3.2.10.second-open-refused")
@broken_by("confirms it again", answers(Connection.Open, confirmed, skip=1))
@broken_by("puts up with it", Fault.changes(AGAIN, effects=()))
def a_second_open_is_refused(server: Server) -> None:
    """OPEN on an open connection closes it."""
    connection = server.connection()
    is_closed(connection, connection.opening())


@scenario("fast/3.2.10.open-confirmed-on-demand")
@broken_by("confirms always", takes(Connection.Open, confirmed, when=lambda opening: not opening.confirm_tag))
@broken_by("confirms never", withholds(Connection.Reply))
def open_is_confirmed_if_that_is_wanted(server: Server) -> None:
    """OPEN with a tag is confirmed; with the tag 0 it is not, and a channel opens all the same."""
    opens(server.tuned())
    connection = server.tuned()
    connection.send(connection.opening(confirm_tag=0))
    serves(connection)
    seen = connection.link.next(0, 0.0)
    connection.link.hold(seen, [silence()], connection.link.now())


# -- CLOSE, and the end of the network connection ------------------------------------------------------


@scenario("fast/3.2.10.close-expected")
@broken_by("answers once it is open", Fault.changes("close: is answered", state=ConnectionState.OPEN))
@broken_by("does not answer", ignores(Connection.Close))
def a_close_is_answered_behind_what_came_before(server: Server) -> None:
    """CLOSE behind TUNE, behind OPEN, and in one write with OPEN and CHANNEL OPEN, is answered last."""
    closes(server.tuned(), stream_ends().under(TUNING))
    closes(server.connection())
    used = server.channel(new_connection=True)
    closes(used.connection)
    connection = server.tuned()
    opening, channel, tag = connection.opening(), connection.unopened(), connection.tag()
    connection.send(opening, Channel.Open(channel.id, tag), CLOSE)
    connection.expect(granted(Connection.Reply, opening.confirm_tag))
    connection.expect(Connection.Close)
    channel.expect(granted(Channel.Reply, tag))


@scenario("fast/3.2.10.close-releases")
@broken_by("releases nothing", KEEPS_NAMES)
def a_close_releases_all_resources(server: Server) -> None:
    """Behind CLOSE the name of the client can be used again, and what it had taken is delivered."""
    queue, name = server.queue(b"taken"), server.name("client")
    first = server.tuned()
    first.open(client_name=name)
    first.channel().handle().consume(queue).messages(1)
    closes(first)
    opens_in_time(server, name)
    server.newest.channel().handle().consume(queue).hears(b"taken")


@scenario("fast/3.2.10.lost-connection-returns-messages")
@broken_by("takes them for processed", Fault.changes(HANG_UP, keeps, close_connection, end))
@broken_by("does not notice", Fault.drops(HANG_UP))
def a_lost_connection_gives_back_what_was_taken(server: Server) -> None:
    """A message that was not acknowledged is delivered again when the network connection is lost."""
    queue = server.queue(b"taken")
    taker = server.handle(new_connection=True).consume(queue)
    taker.messages(1)
    taker.connection.drop()
    server.handle().consume(queue).hears(b"taken")


@scenario("fast/3.2.10.lost-connection-rolls-back")
@broken_by("commits instead", Fault.changes(HANG_UP, commits, close_connection, end))
def a_lost_connection_rolls_back(server: Server) -> None:
    """What was sent in a transaction is not delivered when the network connection is lost."""
    queue = server.queue()
    in_transaction(server, queue).connection.drop()
    is_empty(server, queue)


@scenario("fast/3.2.10.lost-connection-frees-name")
@broken_by("does not notice", Fault.drops(HANG_UP))
def a_lost_connection_frees_its_name(server: Server) -> None:
    """The name of a client is confirmed again when its network connection is lost."""
    name = server.name("client")
    first = server.tuned()
    first.open(client_name=name)
    first.drop()
    opens_in_time(server, name)


@scenario("fast/3.2.10.lost-connection-ended")
@broken_by("does not notice", Fault.drops(HANG_UP))
def a_lost_connection_is_ended_by_the_server(server: Server) -> None:
    """When our side of the network connection ends, the server ends its own."""
    connection = server.connection()
    connection.link.shut()
    said = answered(Connection.Close).under(ALL_THE_SAME)
    if not stream_ends().matches(connection.expect(stream_ends(), said)):
        connection.expect(stream_ends())
