"""3.2.11 Confirmation Tags, 3.2.12 Connection Error Handling, 3.2.13 Example."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    Interposer,
    Said,
    adds,
    answers,
    ignores,
    repeats,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.fakes import TUNE
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import carrying, numbers
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.outcomes import (
    answered,
    closed,
    closed_anyhow,
    fields,
    refused,
    replied,
    stream_ends,
    that,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.events import ConnectionState
from harness.amqp_fast.peer.refusals import close_connection
from harness.amqp_fast.wire.frames import RawFrame
from harness.amqp_fast.wire.tables import encode_table, short_string
from harness.amqp_fast.wire.vocabulary import (
    NOT_IMPLEMENTED,
    OK,
    QUEUE,
    Channel,
    Connection,
    Handle,
    MessageHead,
)
from scenarios.amqp_fast.connections.negotiation import (
    GOOD,
    granted,
    opens,
)
from scenarios.amqp_fast.connections.s3_2_4_connection_response import REFUSED, TOO_LARGE, filled
from scenarios.amqp_fast.connections.s3_2_5_connection_tune import LEAST
from scenarios.registry import broken_by, scenario

FIRST, COUNT = 1000, 5
"""The first tag of a batch, and how many there are."""
NO_MESSAGES = Handle.Index(1)
BROWSED = carrying(Handle.Notify(1), MessageHead(4).encode() + b"body")
"""What answers QUERY and BROWSE of the first handle, as if somebody else had asked."""
TAGS = (1, 255, 256, 32768, 65535)
SEVERAL = 1.9
"""Seconds that are two, with some room for clocks that are read at other times."""
AT_ONCE = "a pause is the general response (1269), which an end at once is not"
ANOTHER_CODE = "the code is for what is not implemented; another one refuses as well"
ANOTHER_OPTION = "the option is none of those that a client may send (1041)"
WORDLESS = "nothing says that a close comes before the end"
ASKS_ON = "a CHALLENGE is for what is lacking (949), but another one may be tried"
ANOTHER_SUCCESS = "the example has 200 (1286); another code of success is one as well"
EARLY = "negotiation: ends for what is not expected"


# -- 3.2.11 --------------------------------------------------------------------------------------------


def untagged(said: Any) -> bool:
    """Say whether a command asks for no confirmation."""
    return not said.confirm_tag


def confirmed(opening: Any) -> Channel.Reply:
    """Confirm a CHANNEL OPEN."""
    return Channel.Reply(opening.channel_id, opening.confirm_tag, OK)


def confirmed_by_handle(said: Any) -> Handle.Reply:
    """Confirm a command of a handle."""
    return Handle.Reply(said.handle_id, said.confirm_tag, OK)


@scenario("fast/3.2.11.tag-zero-unconfirmed")
@broken_by("confirms every channel", takes(Channel.Open, confirmed, when=untagged))
@broken_by("confirms every message", takes(Handle.Send, confirmed_by_handle, when=untagged))
@broken_by("confirms every consumer", takes(Handle.Consume, confirmed_by_handle, when=untagged))
def commands_without_a_tag_are_not_confirmed(server: Server) -> None:
    """OPEN, CHANNEL OPEN, HANDLE OPEN, CONSUME and SEND with the tag 0 have no reply; FLOW with one has."""
    queue = server.queue()
    server.handle(new_connection=True).consume(queue).close()  # control: with tags all are confirmed
    connection = server.tuned()
    connection.send(connection.opening(confirm_tag=0))
    connection.is_open()
    handle = connection.unopened().unopened()
    handle.send(Channel.Open(handle.channel.id), handle.opening(confirm_tag=0))
    handle.send(*handle.carries(queue, b"body"), handle.consuming(queue))
    handle.hears(b"body")
    handle.send(Handle.Flow(handle.id, 7, True))
    handle.expect(replied(Handle.Reply, 7))
    handle.got_nothing()


@scenario("fast/3.2.11.tag-confirmed")
@broken_by("reads one octet of it", rewrites(Channel.Reply, confirm_tag=lambda tag: tag & 0xFF))
@broken_by("gives a sign to it", withholds(Channel.Reply, when=lambda said: said.confirm_tag > 32767))
@broken_by("confirms twice", repeats(Channel.Reply))
def commands_with_a_tag_are_confirmed_by_it(server: Server) -> None:
    """OPEN and CHANNEL OPEN with the tags 1, 255, 256, 32768 and 65535 are confirmed once, with the tag."""
    for tag in TAGS:
        opens(server.tuned(), confirm_tag=tag)
    connection = server.connection()
    for tag in TAGS:
        channel = connection.unopened()
        channel.tries(Channel.Open(channel.id, tag), granted(Channel.Reply, tag))
        channel.stays_quiet()


@scenario("fast/3.2.11.errors-visible-unconfirmed")
@broken_by("keeps it to itself", ignores(Channel.Open, skip=1))
@broken_by("closes as if all were well", rewrites(Channel.Close, reply_code=OK))
def errors_show_without_a_confirmation(server: Server) -> None:
    """A channel that is opened twice with the tag 0 closes something, and nothing is confirmed."""
    connection = server.tuned()
    connection.send(connection.opening(confirm_tag=0))
    connection.is_open()
    channel = connection.unopened()
    channel.send(Channel.Open(channel.id), Channel.Open(channel.id))
    channel.expect(*refused(Channel.Close), stream_ends().under(WORDLESS))


def is_early(reply: Any) -> bool:
    """Say whether a reply is to one of the first commands of a batch."""
    return bool(FIRST <= reply.confirm_tag < FIRST + COUNT - 1)


@scenario("fast/3.2.11.confirmations-not-batched")
@broken_by("confirms the last one", withholds(Handle.Reply, when=is_early))
@broken_by("confirms all by one tag", rewrites(Handle.Reply, when=is_early, confirm_tag=FIRST + COUNT - 1))
@broken_by("confirms again", repeats(Handle.Reply, when=lambda said: said.confirm_tag == FIRST + COUNT - 1))
def each_command_is_confirmed_by_itself(server: Server) -> None:
    """Five commands in one write are confirmed by five replies, in their order."""
    handle = server.handle(new_connection=True)
    tags = range(FIRST, FIRST + COUNT)
    handle.send(*(Handle.Flow(handle.id, tag, bool(tag % 2)) for tag in tags))
    for tag in tags:
        handle.expect(granted(Handle.Reply, tag))
    handle.got_nothing()


def before_reply(tag: int, what: Said) -> Interposer:
    """Answers a later command before it confirms one."""
    return adds(Handle.Reply, what, before=True, when=lambda reply: reply.confirm_tag == tag)


@scenario("fast/3.2.11.completed-before-next")
@broken_by("lists before it confirms", before_reply(FIRST, NO_MESSAGES))
@broken_by("browses before it confirms", before_reply(FIRST + 1, BROWSED))
@broken_by("does not confirm in between", withholds(Handle.Reply, when=is_early))
def nothing_of_later_commands_comes_before_a_confirmation(server: Server) -> None:
    """The reply to HANDLE OPEN comes before the INDEX, that to FLOW before the message asked for behind."""
    queue = server.queue(b"body")
    handle = server.channel(new_connection=True).unopened()
    handle.send(handle.opening(confirm_tag=FIRST), Handle.Query(handle.id, 0, queue))
    handle.expect(granted(Handle.Reply, FIRST))
    (number,) = numbers(handle.expect(Handle.Index).message_list)
    handle.send(Handle.Flow(handle.id, FIRST + 1, False), Handle.Browse(handle.id, 0, number))
    handle.expect(granted(Handle.Reply, FIRST + 1))
    handle.hears(b"body")


# -- 3.2.12 --------------------------------------------------------------------------------------------


def ends_at_last(connection: FastConnection) -> None:
    """Judge that the network connection ends, though nothing that comes before is answered."""
    again = answered(Connection.Challenge).under(ASKS_ON)
    seen = connection.expect(stream_ends(), closed(Connection.Close), again, acknowledge=False)
    while not stream_ends().matches(seen):
        seen = connection.expect(stream_ends(), acknowledge=False)


@scenario("fast/3.2.12.pause-before-closing", slow=True)
@broken_by("never ends", Fault.changes(REFUSED, close_connection))
@broken_by("lets it in after a while", Fault.changes(REFUSED, answer=lambda _: (TUNE,)))
def a_pause_comes_before_the_end(server: Server) -> None:
    """Behind a wrong password the network connection ends, and not before two seconds have passed."""
    server.tuned()
    connection = server.begun()
    began = connection.link.now()
    connection.send(connection.response(responses={"LOGIN": connection.endpoint.user, "PASSWORD": "wrong"}))
    ends_at_last(connection)
    passed = connection.link.now() - began
    server.judge("a pause of two seconds", "the end before two seconds", passed >= SEVERAL, AT_ONCE)


@scenario("fast/3.2.12.faults-end-connection", slow=True)
@broken_by("waits for an answer to its close", Fault.changes(REFUSED, close_connection))
@broken_by("waits behind errors of syntax", Fault.changes(EARLY, close_connection))
def every_fault_ends_the_network_connection(server: Server) -> None:
    """A table that is cut short, 5000 octets, and a wrong password end it, though we answer nothing."""
    good = server.connection().response()
    cut = encode_table(good.responses)[2:-1]
    wrong = {"LOGIN": server.endpoint.user, "PASSWORD": "wrong"}
    malformed = bytes((good.code,)) + short_string(good.mechanism) + len(cut).to_bytes(2, "big") + cut
    for said in (
        RawFrame(malformed),
        filled(server.begun(), TOO_LARGE, responses=wrong),
        good.replace(responses=wrong),
    ):
        connection = server.begun()
        connection.send(said)
        ends_at_last(connection)


# -- 3.2.13 --------------------------------------------------------------------------------------------


def has_limit(tune: Any) -> bool:
    """Say whether a TUNE of a client has CHANNEL_MAX."""
    return "CHANNEL_MAX" in tune.options


def get_stuck(turn: AnyTurn) -> None:
    """Does nothing more on a connection where the client has named such a limit."""
    if has_limit(turn.event):
        turn.connection.state = ConnectionState.ENDING


@scenario("fast/3.2.13.channel-max-from-client")
@broken_by("ends as if all were well", answers(Connection.Tune, Connection.Close(OK), when=has_limit))
@broken_by("stumbles", Fault.changes("tune: is accepted", get_stuck))
def channel_max_of_a_client_is_taken_or_refused(server: Server) -> None:
    """CHANNEL_MAX 1 beside FRAME_MAX is accepted, or refused by CLOSE."""
    server.connection({"FRAME_MAX": LEAST})
    connection = server.tuned()
    opening = connection.opening()
    connection.send(Connection.Tune({"FRAME_MAX": LEAST, "CHANNEL_MAX": 1}), opening)
    accepted = granted(Connection.Reply, opening.confirm_tag)
    connection.expect(accepted, closed(Connection.Close).under(ANOTHER_OPTION))


@scenario("fast/3.2.13.not-implemented")
@broken_by("takes it", answers(Handle.Send, confirmed_by_handle, when=lambda said: said.out_of_band))
@broken_by("says nothing", ignores(Handle.Send, when=lambda said: said.out_of_band))
def what_is_not_implemented_is_refused_by_540(server: Server) -> None:
    """A message that is elsewhere, of which nothing has been agreed, is refused with 540."""
    queue = server.queue()
    handle = server.handle(new_connection=True)
    handle.publish(queue, b"control")
    tag = handle.connection.tag()
    handle.send(Handle.Send(handle.id, tag, QUEUE, 100, out_of_band=True, dest_name=queue))
    others = closed_anyhow().under(ANOTHER_CODE)
    handle.expect(*refused(Handle.Close, NOT_IMPLEMENTED), others)


@scenario("fast/3.2.13.close-answered-ok")
@broken_by("tells an error", rewrites(Connection.Close, reply_code=503))
@broken_by("tells nothing", rewrites(Connection.Close, reply_code=0))
def a_close_is_answered_by_200(server: Server) -> None:
    """CLOSE 200 is answered by CLOSE 200."""
    other = that(answered(Connection.Close), "a code of 2xx", lambda seen: seen.command.reply_code in GOOD)
    server.connection().tries(
        Connection.Close(OK, "done"), fields(Connection.Close, reply_code=OK), other.under(ANOTHER_SUCCESS)
    )
