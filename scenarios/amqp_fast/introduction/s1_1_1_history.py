"""1.1.1 Recent Change History: what this version and those before it changed, as far as it can be seen."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    Interposer,
    answers,
    hears,
    ignores,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import (
    WIDER,
    answered,
    closed,
    closed_anyhow,
    connection_ends,
    fields,
    refused,
    replied,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.refusals import close_channel
from harness.amqp_fast.peer.tables.channel import close
from harness.amqp_fast.peer.tables.connection import end
from harness.amqp_fast.peer.traffic import release
from harness.amqp_fast.wire.frames import Frame, frame
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.peers.interposer import Passed, Rule, nothing
from harness.play.watching import Found, came
from scenarios.amqp_fast.talk import DIALOGUE, comes_home, dynamic_name, indexed, sends
from scenarios.registry import broken_by, scenario, watch

UNNAMED_ONLY = "1964 and 2104 have HANDLE CREATED for a queue without a name only"
AGAIN = "3.2.4: the server may ask for more"
SPARED = "nothing says what a server does that is asked for a queue which is not there"
UNASSIGNED = 0x08
"""The bit of HANDLE SEND behind recovery."""
FLAGS = 11
"""Where the octet of bits stands in the payload of HANDLE SEND."""


def is_named(consume: Handle.Consume) -> bool:
    return consume.dynamic and consume.dest_name != b""


def ends_queues_too(turn: AnyTurn) -> None:
    """Removes the dynamic queues of the connection with the channel."""
    close(turn)
    assert turn.connection.host is not None
    release(turn.peer, turn.connection.host, turn.connection.number)


def keeps_queues(turn: AnyTurn) -> None:
    """Closes all channels of the connection, and leaves its dynamic queues."""
    for channel in list(turn.connection.channels.values()):
        close_channel(turn, channel)


# -- dynamic queues ------------------------------------------------------------------------------------


@scenario("fast/1.1.1.created-for-every-dynamic")
@broken_by("tells no name", withholds(Handle.Created))
@broken_by(
    "tells another name than it was given",
    takes(Handle.Consume, lambda consume: Handle.Created(consume.handle_id, "another"), when=is_named),
)
def dynamic_queues_are_told(server: Server) -> None:
    """The name of a queue that the server named comes by HANDLE CREATED; of another one, no other name."""
    unnamed, named = server.handle(), server.handle()
    unnamed.tries(unnamed.consuming("", dynamic=True), Handle.Created)
    name, tag = server.name("queue"), named.connection.tag()
    named.send(named.consuming(name, dynamic=True), Handle.Flow(named.id, tag, False))
    told = fields(Handle.Created, dest_name=name.encode())
    if isinstance(named.expect(told, replied(Handle.Reply, tag).recorded(UNNAMED_ONLY)), Handle.Created):
        named.expect(replied(Handle.Reply, tag))
    named.stays_quiet()


@scenario("fast/1.1.1.empty-name-made-up")
@broken_by("leaves the name empty", rewrites(Handle.Created, dest_name=b""))
@broken_by("gives all queues one name", hears(Handle.Consume, dest_name=b"dynamic"))
@broken_by("tells one name for all", rewrites(Handle.Created, dest_name=b"dynamic"))
def unnamed_queues_are_named_by_the_server(server: Server) -> None:
    """Two dynamic queues without a name get two names; a message to one of them comes on its handle alone."""
    handles = server.handle(), server.handle()
    told = [each.tries(each.consuming("", dynamic=True), Handle.Created) for each in handles]
    first, second = (each.dest_name for each in told)
    server.judge("two names", "an empty one, or one twice", first and second and first != second)
    sends(server.handle(), first, b"one")
    handles[0].hears(b"one")
    handles[1].stays_quiet()


@scenario("fast/1.1.1.empty-name-not-dynamic-refused")
@broken_by("makes a queue all the same", Fault.drops("handle consume: of no queue is refused"))
@broken_by("takes it for dynamic", hears(Handle.Consume, dynamic=True))
@broken_by("says nothing", ignores(Handle.Consume, when=lambda consume: not consume.dynamic))
def unnamed_queue_that_is_not_dynamic_is_refused(server: Server) -> None:
    """Without the dynamic bit an empty name is refused by a close."""
    dynamic_name(server.handle())
    handle = server.handle()
    tag = handle.connection.tag()
    handle.tries(handle.consuming("", confirm_tag=tag), *refused(Handle.Close))


@scenario("fast/1.1.1.dynamic-queue-outlives-channel")
@broken_by("ends its queues with the channel", Fault.changes("channel close: is answered", ends_queues_too))
def dynamic_queue_is_there_behind_its_channel(server: Server) -> None:
    """The channel on which the queue was made is closed; on another one it is used by its name."""
    connection = server.connection()
    maker, other = connection.channel(), connection.channel().handle()
    name = dynamic_name(maker.handle())
    maker.close()
    other.confirms(other.consuming(name))
    comes_home(other, name, b"later")


@scenario("fast/1.1.1.dynamic-queue-ends-with-connection")
@broken_by(
    "keeps it",
    Fault.together(
        Fault.changes("close: is answered", keeps_queues),
        Fault.changes("hang-up: ends all", keeps_queues, end),
    ),
)
def dynamic_queue_goes_with_its_connection(server: Server) -> None:
    """The connection on which the queue was made is closed; its messages are gone, or the queue itself is."""
    maker = server.handle()
    name = dynamic_name(maker)
    maker.publish(name, b"one", b"two")
    maker.connection.close()
    other = server.handle(new_connection=True)
    tag = other.connection.tag()
    other.send(other.consuming(name, confirm_tag=tag))
    seen = other.expect(*refused(Handle.Close), replied(Handle.Reply, tag).recorded(SPARED))
    if isinstance(seen, Handle.Reply):
        other.stays_quiet()


# -- fields and flags ----------------------------------------------------------------------------------


@scenario("fast/1.1.1.handle-id-not-zero")
@broken_by("opens it", Fault.drops("handle open: of number zero is refused"))
@broken_by("says nothing", ignores(Handle.Open, when=lambda open_: open_.handle_id == 0))
def handle_of_number_zero_is_refused(server: Server) -> None:
    """HANDLE OPEN with the id 1 is confirmed, with the id 0 refused by a close."""
    channel = server.channel()
    channel.handle(1)
    narrow = closed(Handle.Close) | closed(Channel.Close)
    zero = channel.unopened(0)
    zero.tries(zero.opening(), narrow, closed(Connection.Close).recorded(WIDER))


def has_bit(sent: Frame) -> bool:
    return sent.type == Handle.Send.code and bool(sent.payload[FLAGS] & UNASSIGNED)


def confirms(_: int, sent: Any) -> Passed:
    """Confirms a message, and does not hand it on."""
    send = sent.command()
    return [], [frame(Handle.Reply(send.handle_id, send.confirm_tag, OK))]


@scenario("fast/1.1.1.unassigned-bit-of-send")
@broken_by("confirms it and loses the message", Interposer((Rule(Frame, False, confirms, has_bit),)))
@broken_by("says nothing", Interposer((Rule(Frame, False, nothing, has_bit),)))
def unassigned_bit_of_send_is_borne(server: Server) -> None:
    """A message sent with it arrives or is refused, where there is a consumer and where there is none."""
    address = server.address()
    consumer = server.handle(new_connection=True).consume(address, no_ack=True)
    server.handle().publish(address, b"without")
    consumer.messages(1)
    if is_taken(server.handle(new_connection=True), address, b"with"):
        consumer.hears(b"with")
    consumer.close()
    if is_taken(server.handle(new_connection=True), address, b"alone"):
        server.handle(new_connection=True).consume(address, no_ack=True).hears(b"alone")


def is_taken(handle: FastHandle, address: str, body: bytes) -> bool:
    """Judge that a message with the bit is confirmed or refused; say whether it was confirmed."""
    tag = handle.connection.tag()
    (said,) = handle.carries(address, body, tag=tag)
    payload = bytearray(said.payload)
    payload[FLAGS] |= UNASSIGNED
    handle.send(Frame(bytes(payload), said.fragment))
    seen = handle.expect(replied(Handle.Reply, tag), closed_anyhow().recorded("the bit is refused"))
    return isinstance(seen, Handle.Reply)


@scenario("fast/1.1.1.query-includes-its-number")
@broken_by(
    "begins behind it",
    hears(Handle.Query, when=lambda query: query.message_nbr > 0, message_nbr=lambda number: number + 1),
)
@broken_by("lists all", hears(Handle.Query, message_nbr=0))
def query_lists_from_its_number_on(server: Server) -> None:
    """Of three messages QUERY from the second lists two, from the third one."""
    queue, handle = server.queue(b"one", b"two", b"three"), server.handle()
    listed = indexed(handle, queue)
    server.judge("three messages", f"{len(listed)}", len(listed) == 3)
    for place in (1, 2):
        found = indexed(handle, queue, listed[place])
        server.judge("the numbers from that on", f"{len(found)} numbers", found == listed[place:])


# -- the opening ---------------------------------------------------------------------------------------


@scenario("fast/1.1.1.login-required")
@broken_by(
    "lets in by NONE",
    answers(Connection.Response, Connection.Tune({"FRAME_MAX": 4096}), when=lambda r: r.mechanism == b"NONE"),
)
@broken_by(
    "lets in without a mechanism",
    answers(Connection.Response, Connection.Tune({"FRAME_MAX": 4096}), when=lambda r: not r.mechanism),
)
@broken_by(
    "lets in without a login",
    answers(Connection.Response, Connection.Tune({"FRAME_MAX": 4096}), when=lambda r: not r.responses),
)
def nobody_gets_in_without_a_login(server: Server) -> None:
    """NONE, no mechanism at all and PLAIN without a login lead to no CONNECTION TUNE."""
    server.tuned()
    for mechanism in ("NONE", "", "PLAIN"):
        anonymous = Connection.Response(mechanism)
        server.begun().tries(anonymous, *connection_ends(), answered(Connection.Challenge).recorded(AGAIN))


@watch("fast/1.1.1.none-not-offered", during=DIALOGUE, looks_at=came(Connection.Challenge))
@broken_by("offers it", rewrites(Connection.Challenge, mechanisms=b"PLAIN NONE"))
def none_is_not_offered(each: Passage) -> Found:
    """NONE is not among the mechanisms of a CONNECTION CHALLENGE."""
    return b"NONE" not in each.said.mechanisms.split() or "the mechanism NONE is offered"


@scenario("fast/1.1.1.no-ping-needed")
@broken_by("opens no channel for who has not sent PING", ignores(Channel.Open))
@broken_by("confirms no message of who has not sent PING", withholds(Handle.Reply, skip=1))
def who_never_pings_is_served(server: Server) -> None:
    """Without a single PING a message goes to a queue and back, and all is closed in good order."""
    connection = server.connection({"HEARTBEAT": 0})
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id))
    handle = channel.unopened()
    handle.confirms(handle.opening())
    name = handle.tries(handle.consuming("", dynamic=True), Handle.Created).dest_name
    comes_home(handle, name, b"served")
    handle.tries(Handle.Close(handle.id, OK), Handle.Close)
    channel.tries(Channel.Close(channel.id, OK), Channel.Close)
    connection.tries(Connection.Close(OK), Connection.Close)


@scenario("fast/1.1.1.any-number-of-tunes")
@broken_by("takes none", Fault.drops("tune: is accepted"))
@broken_by("answers each", takes(Connection.Tune, Connection.Tune({"FRAME_MAX": 4096})))
def any_number_of_tunes_is_taken(server: Server) -> None:
    """None, one and three CONNECTION TUNE of ours are taken; the connection is open behind each."""
    for count in (0, 1, 3):
        connection = server.tuned()
        ours = Connection.Tune({"FRAME_MAX": connection.tune.options["FRAME_MAX"]})
        opening = connection.opening()
        connection.send(*[ours] * count, opening)
        connection.expect(replied(Connection.Reply, opening.confirm_tag))
        connection.is_open()
        channel = connection.unopened()
        channel.confirms(Channel.Open(channel.id))
