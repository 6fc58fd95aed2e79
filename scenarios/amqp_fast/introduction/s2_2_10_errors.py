"""2.2.10 Error Handling, 2.2.11 Client-assigned IDs, 2.2.12 Connection Heartbeat."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    hears,
    ignores,
    replaces,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import Conversation, FastHandle
from harness.amqp_fast.client.outcomes import (
    CLOSES,
    REPLIES,
    answered,
    closed_anyhow,
    connection_ends,
    fields,
    refused,
    replied,
    stream_ends,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.events import ChannelState
from harness.amqp_fast.peer.refusals import RESOURCES, refuses
from harness.amqp_fast.peer.turn import Row
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import ANY, COMMANDS, OK, Channel, Connection, Handle
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import Direction
from scenarios.amqp_fast.talk import DIALOGUE, comes_home, dynamic_name, indexed
from scenarios.registry import broken_by, scenario, watch

ALL = "3.3.10 and 485: the connection may be closed as well"
TELLING = (*CLOSES, *REPLIES)


# -- errors --------------------------------------------------------------------------------------------


@scenario("fast/2.2.10.never-waits")
@broken_by("loses a message", Fault.changes("handle send: is done", lambda _: None))
@broken_by("confirms in another order", hears(Handle.Flow, confirm_tag=1))
def client_need_not_wait(server: Server) -> None:
    """From CONNECTION OPEN to CONNECTION CLOSE all is sent in one write, and answered in its order."""
    queue, connection = server.queue(), server.tuned()
    channel = connection.unopened()
    handle, opening = channel.unopened(), connection.opening()
    tags = [connection.tag() for _ in range(6)]
    said: list[Any] = [opening, Channel.Open(channel.id, tags[0]), handle.opening(confirm_tag=tags[1])]
    for tag in tags[2:5]:
        said += handle.carries(queue, b"%d" % tag, tag=tag)
    said += [Handle.Flow(handle.id, tags[5], False), Handle.Close(handle.id, OK)]
    connection.send(*said, Channel.Close(channel.id, OK), Connection.Close(OK))
    connection.expect(replied(Connection.Reply, opening.confirm_tag))
    channel.expect(replied(Channel.Reply, tags[0]))
    for tag in tags[1:]:
        channel.expect(replied(Handle.Reply, tag))
    channel.expect(Handle.Close)
    channel.expect(Channel.Close)
    connection.expect(Connection.Close)
    server.judge("three messages", "others", len(indexed(server.handle(), queue)) == 3)


def is_opened_again(channel_handle: FastHandle) -> type[Command]:
    """Judge that HANDLE OPEN of an open handle is refused; give by which close."""
    again = channel_handle.opening()
    seen = channel_handle.tries(again, *refused(Handle.Close))
    return type(seen)


def still_there(turn: AnyTurn) -> None:
    """Tells that a handle is closed, and leaves it open."""
    turn.connection.say(Handle.Close(turn.handle.id, 503))


@scenario("fast/2.2.10.error-shuts-down-its-part")
@broken_by(
    "says that it closes it, and does not", Fault.changes("handle open: again is refused", still_there)
)
@broken_by("has the other handle suffer", ignores(Handle.Flow, when=lambda it: it.handle_id == 2))
@broken_by("says nothing", Fault.drops("handle open: again is refused"))
def error_shuts_down_what_it_affects(server: Server) -> None:
    """An error of one handle closes it, so that it is refused from now on; the other one serves."""
    channel = server.channel(new_connection=True)
    first, second = channel.handle(1), channel.handle(2)
    if is_opened_again(first) is Handle.Close:
        second.confirms(Handle.Flow(2, 0, False))
        first.tries(Handle.Flow(1, channel.connection.tag(), False), closed_anyhow())


@scenario("fast/2.2.10.destination-error-closes-handle")
@broken_by("says nothing", Fault.drops("handle consume: of no service is refused"))
@broken_by("replies", replaces(Handle.Close, lambda it: Handle.Reply(it.handle_id, 1, it.reply_code)))
@broken_by("closes as if all were well", rewrites(Handle.Close, reply_code=OK))
def error_on_a_destination_closes_its_handle(server: Server) -> None:
    """HANDLE CONSUME of the service type 3 is refused by HANDLE CLOSE."""
    control = server.handle()
    control.ask(control.consuming(server.name("queue"), dynamic=True))
    handle = server.handle(new_connection=True)
    wrong = handle.consuming("any", service_type=ANY, confirm_tag=handle.connection.tag())
    seen = handle.tries(wrong, *refused(Handle.Close))
    if isinstance(seen, Handle.Close):
        server.judge("its own handle", "another", seen.handle_id == handle.id)


@scenario("fast/2.2.10.channel-error-closes-channel")
@broken_by("commits all the same", Fault.changes("channel commit: is done", condition=lambda _: True))
@broken_by("says nothing", Fault.drops("channel commit: is refused"))
@broken_by("closes another", rewrites(Channel.Close, channel_id=2))
def error_on_a_channel_closes_it(server: Server) -> None:
    """CHANNEL COMMIT on a channel without transactions is refused by CHANNEL CLOSE."""
    server.channel(transacted=True).commit()
    channel = server.channel(new_connection=True)
    seen = channel.tries(Channel.Commit(channel.id, channel.connection.tag()), *refused(Channel.Close))
    if isinstance(seen, Channel.Close):
        channel.confirms(Channel.Open(channel.id))


@scenario("fast/2.2.10.connection-error-closes-connection")
@broken_by("opens it again", takes(Connection.Open, lambda it: Connection.Reply(it.confirm_tag, OK), skip=1))
@broken_by("says nothing", Fault.drops("open: again is refused"))
@broken_by("does not end", Fault.changes("closing: ends with close", effects=(), next=None))
def error_on_the_connection_closes_it(server: Server) -> None:
    """A second CONNECTION OPEN is refused by CONNECTION CLOSE, and our answer ends the connection."""
    connection = server.connection()
    connection.alive()
    seen = connection.tries(connection.opening(), *connection_ends())
    if isinstance(seen, Connection.Close):
        connection.expect(stream_ends())


@watch("fast/2.2.10.three-digit-codes", during=DIALOGUE, looks_at=came(*TELLING))
@broken_by("replies with 0", rewrites(Handle.Reply, reply_code=0))
@broken_by("closes with 2000", rewrites(Connection.Close, reply_code=2000))
def codes_have_three_digits(each: Passage) -> Found:
    """The reply-code of a reply or close is between 100 and 999."""
    code = each.said.reply_code
    return 100 <= code < 1000 or f"{each.said.full_name} with the reply-code {code}"


TAG = 0x7A67
"""A confirm tag that no control uses."""


@scenario("fast/2.2.10.first-digit-tells")
@broken_by("closes handles with 200", rewrites(Handle.Close, reply_code=OK))
@broken_by("closes channels with 299", rewrites(Channel.Close, reply_code=299))
@broken_by("confirms with 300", rewrites(Handle.Reply, lambda it: it.confirm_tag == TAG, reply_code=300))
def first_digit_tells_how_it_went(server: Server) -> None:
    """What is confirmed has a code of 2xx, what is refused another one."""
    queue, channel = server.queue(), server.channel(new_connection=True)
    told = [confirmed_code(channel, Handle.Open(channel.id, 1, TAG, True))]
    handle = channel.unopened(1)
    handle.send(*handle.carries(queue, b"sent", tag=TAG))
    told.append(handle.expect(Handle.Reply).reply_code)
    server.judge("2xx for success", "another digit", all(200 <= each < 300 for each in told))
    channel.handle(2)
    codes = [
        handle.tries(handle.opening(), answered(*CLOSES)).reply_code,
        refused_code(server, Channel.Open(1, 1)),
        refused_code(server, Connection.Open(1, "")),
    ]
    server.judge("another digit for errors", "2xx", not any(200 <= each < 300 for each in codes))


def confirmed_code(place: Conversation, command: Command) -> int:
    """Judge that a command is confirmed; give the reply-code."""
    return int(place.tries(command, answered(*REPLIES)).reply_code)


def refused_code(server: Server, command: Command) -> int:
    """Judge that a command on an open channel 1 is refused; give the reply-code."""
    channel = server.connection().channel(1)
    return int(channel.tries(command, answered(*CLOSES)).reply_code)


# -- ids -----------------------------------------------------------------------------------------------


@scenario("fast/2.2.11.client-chooses-ids")
@broken_by("takes eight bits of a handle", hears(Handle.Open, handle_id=lambda number: number & 0xFF))
@broken_by(
    "takes ids for counts",
    Fault.inserts(
        "channel open: of too many is refused",
        Row(
            "channel open: with a high number is refused",
            ChannelState.CLOSED,
            Channel.Open,
            lambda turn: turn.event.channel_id > turn.peer.limits.channels,
            (refuses(RESOURCES, "too high", "channel"),),
        ),
    ),
)
def ids_are_the_clients_choice(server: Server) -> None:
    """Channel 65535 with handles 65535 and 300, then channel 1 with handle 7, are opened and used."""
    connection = server.connection()
    for number, handles in ((0xFFFF, (0xFFFF, 300)), (1, (7,))):
        channel = connection.unopened(number)
        channel.confirms(Channel.Open(number))
        for each in handles:
            handle = channel.unopened(each)
            handle.tries(handle.opening(), fields(Handle.Reply, handle_id=each, reply_code=OK))
            name = handle.tries(handle.consuming("", dynamic=True), Handle.Created).dest_name
            comes_home(handle, name, b"%d" % each)


class Named(State):
    """The ids that we have named: of channels, and of handles."""

    def __init__(self) -> None:
        self.ids: set[tuple[str, int]] = set()


def ids_in(command: Any) -> set[tuple[str, int]]:
    """Give the ids of channels and handles in a command."""
    return {(name, getattr(command, name)) for name in ("channel_id", "handle_id") if name in command.names}


WITH_IDS = [each for each in COMMANDS.values() if {"channel_id", "handle_id"} & {*each.names}]


@watch(
    "fast/2.2.11.ids-not-made-up",
    during=DIALOGUE,
    looks_at=went(*WITH_IDS) + came(*WITH_IDS),
    start=Named,
    gap=Gaps.STOPS,
)
@broken_by("names a handle of its own", rewrites(Handle.Created, handle_id=999))
@broken_by("names a channel of its own", adds(Channel.Reply, Channel.Close(999, 541)))
def ids_come_from_the_client(named: Named, each: Passage) -> Found:
    """An id that the server names is one that we have named."""
    if each.direction is Direction.SENT:
        named.ids |= ids_in(each.said)
        return None
    strange = ids_in(each.said) - named.ids
    return not strange or f"{each.said.full_name} names an id that nobody gave"


@scenario("fast/2.2.11.may-reject-ids")
@broken_by("says nothing of number zero", ignores(Channel.Open, when=lambda it: it.channel_id == 0))
@broken_by("says nothing of an open one", Fault.drops("handle open: again is refused"))
def invalid_ids_are_answered(server: Server) -> None:
    """A channel of number zero, and a handle that is open elsewhere, are confirmed or refused."""
    zero = server.connection().unopened(0)
    tag = zero.connection.tag()
    zero.tries(Channel.Open(0, tag), closed_anyhow(), replied(Channel.Reply, tag).recorded("it is no id"))
    handle = server.handle(new_connection=True)
    again = handle.connection.channel().unopened(handle.id)
    opening = again.opening()
    taken = replied(Handle.Reply, opening.confirm_tag).recorded("ids need not be checked")
    again.tries(opening, closed_anyhow(), taken)


@scenario("fast/2.2.11.used-without-waiting")
@broken_by("does not open without a tag", ignores(Channel.Open, when=lambda it: it.confirm_tag == 0))
@broken_by("loses messages without a tag", ignores(Handle.Send, when=lambda it: it.confirm_tag == 0))
def ids_are_used_at_once(server: Server) -> None:
    """Two channels are opened and used in one write; what was sent on both arrives."""
    queue, connection = server.queue(), server.connection()
    first, second = (connection.unopened().unopened() for _ in range(2))
    tag = connection.tag()
    said: list[Any] = []
    for handle, body, wanted in ((first, b"one", 0), (second, b"two", tag)):
        said += [Channel.Open(handle.channel.id), handle.opening(confirm_tag=0)]
        said += handle.carries(queue, body, tag=wanted)
    connection.send(*said)
    second.expect(replied(Handle.Reply, tag))
    server.judge("both messages", "others", len(indexed(server.handle(), queue)) == 2)


# -- heartbeats ----------------------------------------------------------------------------------------

TURNS = 4
"""How often something is sent at intervals of a heartbeat."""
BRIEF = 2
"""Seconds of a heartbeat that can be waited for."""


@scenario("fast/2.2.12.no-close-for-missing-pings", slow=True)
@broken_by(
    "gives up who has not sent PING", replaces(Handle.Notify, Connection.Close(500, "no ping"), skip=1)
)
@broken_by("serves no more who has not sent PING", withholds(Handle.Notify, skip=1))
def who_works_without_pings_is_not_given_up(server: Server) -> None:
    """For several heartbeats a client sends and receives a message now and then, and never a PING."""
    connection = server.connection({"HEARTBEAT": 1})
    told = connection.tune.options.get("HEARTBEAT", 0)
    interval = told if 0 < told <= BRIEF else 1
    handle = connection.channel().handle()
    name = dynamic_name(handle)
    for turn in range(TURNS):
        connection.link.listen(interval)
        comes_home(handle, name, b"%d" % turn)
    connection.tries(Connection.Close(OK), Connection.Close)
