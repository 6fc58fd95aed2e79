"""2.2.7 Command Hierarchy: the chart of all commands, played."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    hears_fragment,
    ignores,
    repeats,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle, carrying
from harness.amqp_fast.client.outcomes import answered, message, replied, that
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.frames import Initiation
from harness.amqp_fast.wire.vocabulary import OK, QUEUE, Channel, Connection, Handle, MessageHead
from harness.play.expect import Outcome
from scenarios.amqp_fast.talk import DIALOGUE, indexed, sends
from scenarios.registry import broken_by, scenario

CHART = "the chart has HANDLE CREATED behind HANDLE OPEN (299)"
HEADED = 100
"""Octets of a body that are prepared."""


def opened(server: Server) -> FastHandle:
    """Judge the steps of the chart up to HANDLE OPEN, with two CONNECTION TUNE; give a browser."""
    connection = server.socket()
    connection.tries(Initiation(), Connection.Challenge)
    seen = Connection.Challenge()
    while not isinstance(seen, Connection.Tune):
        seen = connection.tries(connection.response(), answered(Connection.Tune, Connection.Challenge))
    connection.tune = seen
    opening = connection.opening()
    connection.send(Connection.Tune(), Connection.Tune({"HEARTBEAT": 0}), opening)
    connection.expect(replied(Connection.Reply, opening.confirm_tag))
    connection.is_open()
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id))
    handle = channel.unopened()
    handle.confirms(handle.opening())
    return handle


def gets_again(handle: FastHandle, name: bytes) -> None:
    """Judge that a message is delivered, delivered again when it was given back, and acknowledged."""
    first = handle.hears(b"one")[0].command
    handle.confirms(Handle.Unget(handle.id, 0, first.message_nbr))
    again = handle.hears(b"one", dest_name=name)[0].command
    handle.send(Channel.Ack(handle.channel.id, 0, again.message_nbr))


def closes(handle: FastHandle) -> None:
    """Judge that the closes of handle, channel and connection, and a PING, are answered by their like."""
    handle.tries(Handle.Close(handle.id, OK), Handle.Close)
    handle.channel.tries(Channel.Close(handle.channel.id, OK), Channel.Close)
    handle.connection.lives()
    handle.connection.tries(Connection.Close(OK), Connection.Close)


def rolls_back(turn: AnyTurn) -> None:
    """Forgets what the transaction has sent."""
    turn.channel.sent.clear()


@scenario(DIALOGUE)
@broken_by("does not know UNGET", ignores(Handle.Unget))
@broken_by("does not answer HANDLE CLOSE", ignores(Handle.Close))
@broken_by("does not answer CHANNEL CLOSE", withholds(Channel.Close))
@broken_by("does not answer PING", ignores(Connection.Ping))
@broken_by("answers CONNECTION CLOSE by a PING", answers(Connection.Close, Connection.Ping()))
@broken_by("says nothing to the initiation", Fault.drops("initiation: is answered"))
@broken_by("forgets what was committed", Fault.changes("channel commit: is done", rolls_back))
def dialogue_is_played_from_end_to_end(server: Server) -> None:
    """Each step of the server comes where the chart has it, from the challenge to the last close."""
    handle = opened(server)
    name = handle.tries(handle.consuming("", dynamic=True, prefetch=1), Handle.Created).dest_name
    handle.send(*handle.carries(name, b"one"))
    gets_again(handle, name)
    handle.confirms(Handle.Flow(handle.id, 0, True))
    sends(handle, name, b"two")
    browses(handle, name, b"two")
    transacted = handle.connection.unopened()
    transacted.confirms(Channel.Open(transacted.id, transacted=True))
    other = transacted.unopened()
    other.confirms(other.opening())
    for body, end in ((b"three", Channel.Rollback), (b"four", Channel.Commit)):
        sends(other, name, body)
        other.confirms(end(transacted.id))
    handle.channel.send(Handle.Flow(handle.id, 0, False))
    for body in (b"two", b"four"):
        number = handle.hears(body)[0].command.message_nbr
        handle.send(Channel.Ack(handle.channel.id, 0, number))
    closes(handle)


def browses(handle: FastHandle, name: bytes, body: bytes) -> None:
    """Judge that one message is listed, and shown when it is asked for."""
    (number,) = indexed(handle, name)
    handle.send(Handle.Browse(handle.id, 0, number))
    handle.hears(body, delivered=False)


@scenario("fast/2.2.7.no-created-after-open")
@broken_by("creates with the handle", takes(Handle.Open, lambda it: Handle.Created(it.handle_id, "early")))
@broken_by("creates nothing", withholds(Handle.Created))
def nothing_is_created_behind_open(server: Server) -> None:
    """HANDLE CREATED comes behind HANDLE CONSUME, and not behind HANDLE OPEN."""
    handle = server.channel().unopened()
    opening = handle.opening()
    confirmed = replied(Handle.Reply, opening.confirm_tag)
    seen = handle.tries(opening, confirmed, answered(Handle.Created).under(CHART))
    if isinstance(seen, Handle.Created):
        handle.expect(confirmed)
    else:
        handle.connection.lives()
        handle.got_nothing()
    handle.tries(handle.consuming("", dynamic=True), Handle.Created)


@scenario("fast/2.2.7.query-leads-to-index")
@broken_by("says nothing", ignores(Handle.Query))
@broken_by("confirms instead", answers(Handle.Query, lambda it: Handle.Reply(it.handle_id, 0, OK)))
@broken_by("lists nothing ever", rewrites(Handle.Index, message_list=b""))
@broken_by("lists twice", repeats(Handle.Index))
def query_is_answered_by_index(server: Server) -> None:
    """QUERY of an empty queue and of one with two messages is answered by one HANDLE INDEX each."""
    handle = server.handle()
    for bodies in ((), (b"one", b"two")):
        listed = indexed(handle, server.queue(*bodies))
        server.judge(f"{len(bodies)} numbers", f"{len(listed)}", len(listed) == len(bodies))
        handle.stays_quiet()


@scenario("fast/2.2.7.prepare-leads-to-ready")
@broken_by("says nothing", ignores(Handle.Prepare))
@broken_by("confirms instead", answers(Handle.Prepare, lambda it: Handle.Reply(it.handle_id, 0, OK)))
@broken_by("has more than was sent", rewrites(Handle.Ready, message_size=lambda size: size + HEADED))
@broken_by(
    "loses the rest", hears_fragment(Handle.Send, lambda rest: rest[:-1] + b"?", when=lambda it: it.recovery)
)
def prepare_is_answered_by_ready(server: Server) -> None:
    """What is prepared is answered by HANDLE READY; the rest then makes it a whole message."""
    queue, reader = server.queue(), server.handle(new_connection=True)
    handle = server.channel(restartable=True).handle()
    most, tag = handle.connection.frame_max, handle.connection.tag()
    body = bytes(range(200)) * (most // 200 + 2)
    head = MessageHead(body_size=len(body), identifier=server.name("message")).encode()
    handle.send(carrying(Handle.Prepare(handle.id), head + body[:HEADED]))
    held = handle.expect(within(HEADED)).message_size
    rest = Handle.Send(handle.id, tag, QUEUE, partial=True, recovery=True, dest_name=queue)
    first, second = body[held:most], body[most:]
    handle.send(carrying(rest, first), carrying(rest.replace(partial=False), second))
    handle.expect(replied(Handle.Reply, tag))
    reader.consume(queue).observe(message(body))


def within(octets: int) -> Outcome:
    """Allow HANDLE READY with a size that is no more than was sent."""
    return that(
        answered(Handle.Ready),
        f"with {octets} at most",
        lambda seen: seen.command.message_size <= octets,
    )
