"""2.2.8.8 Confirmations, 2.2.9 Command Priorities."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    answers,
    ignores,
    repeats,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import closed, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.events import ConnectionState
from harness.amqp_fast.peer.turn import Row
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import OK, TOPIC, Channel, Connection, Handle
from scenarios.amqp_fast.talk import are_confirmed, indexed, sends
from scenarios.registry import broken_by, scenario

EITHER = "503 closes channel or connection, 554 the handle"
HANDLES_REPLY = "1592 has HANDLE REPLY confirm an ACK"
NO_SUCH_SERVICE = 77
TAG = 4711
"""A confirm-tag, where it is told from all others."""
FRAGMENT = 64
"""Octets of a fragment."""


def has_no_tag(command: Any) -> bool:
    return not command.confirm_tag


def is_tagged(reply: Any) -> bool:
    return bool(reply.confirm_tag == TAG)


def says(reply: Any) -> Any:
    """Make what answers a command with a confirmation that nobody asked for."""
    return lambda it: reply(getattr(it, it.names[0]), 0, OK)


@scenario("fast/2.2.8.8.success-unconfirmed")
@broken_by("confirms CHANNEL OPEN", takes(Channel.Open, says(Channel.Reply), when=has_no_tag))
@broken_by("confirms HANDLE SEND", takes(Handle.Send, says(Handle.Reply), when=has_no_tag))
@broken_by("confirms OPEN", takes(Connection.Open, Connection.Reply(0, OK), when=has_no_tag))
@broken_by("confirms HANDLE FLOW", takes(Handle.Flow, says(Handle.Reply), when=has_no_tag))
@broken_by("does nothing that it need not confirm", ignores(Handle.Send, when=has_no_tag))
def success_is_not_confirmed_unasked(server: Server) -> None:
    """From CONNECTION OPEN to CHANNEL ACK, nothing is confirmed that has no confirm-tag, and all is done."""
    queue, connection = server.queue(), server.tuned()
    connection.send(connection.opening(confirm_tag=0))
    connection.lives()
    connection.is_open()
    channel = connection.unopened()
    handle = channel.unopened()
    channel.send(
        Channel.Open(channel.id),
        handle.opening(confirm_tag=0),
        handle.consuming(queue),
        Handle.Flow(handle.id, 0, False),
        *handle.carries(queue, b"done"),
    )
    number = handle.hears(b"done")[0].command.message_nbr
    channel.send(Channel.Ack(channel.id, 0, number))
    connection.lives()
    handle.stays_quiet()


@scenario("fast/2.2.8.8.problem-closes")
@broken_by("says nothing", Fault.drops("handle send: to no service is refused"))
@broken_by(
    "tells it by a reply",
    answers(Handle.Send, lambda it: Handle.Reply(it.handle_id, 0, 401), when=lambda it: it.service_type > 3),
)
def problems_close_though_nothing_was_asked(server: Server) -> None:
    """A message to no service is answered by a close, though it has no confirm-tag."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    handle.send(*handle.carries(queue, b"control"))
    handle.fence()
    handle.send(*handle.carries(queue, b"nowhere", service=NO_SUCH_SERVICE))
    wide = closed(Channel.Close) | closed(Connection.Close)
    handle.expect(wide, closed(Handle.Close).recorded(EITHER))


@scenario("fast/2.2.8.8.confirmed-by-reply")
@broken_by("tells another tag", rewrites(Handle.Reply, confirm_tag=lambda tag: tag + 1))
@broken_by("confirms a channel by HANDLE REPLY", answers(Channel.Commit, says(Handle.Reply)))
@broken_by("does not confirm HANDLE FLOW", ignores(Handle.Flow))
@broken_by("does not confirm an ACK", ignores(Channel.Ack))
@broken_by("confirms with 0", rewrites(Channel.Reply, reply_code=0))
def confirm_tags_are_replied_to(server: Server) -> None:
    """Each command with a tag is confirmed by the reply of its class; CHANNEL ACK by one of both."""
    channel = server.connection().unopened()
    channel.confirms(Channel.Open(channel.id, transacted=True))
    handle = channel.unopened()
    handle.confirms(handle.opening())
    name = handle.tries(handle.consuming("", dynamic=True), Handle.Created).dest_name
    handle.confirms(handle.consuming(server.name("topic"), service_type=TOPIC))
    handle.confirms(Handle.Flow(handle.id, 0, True))
    sends(handle, name, b"confirmed")
    handle.confirms(Channel.Commit(channel.id))
    handle.confirms(Channel.Rollback(channel.id))
    tag = channel.connection.tag()
    channel.send(Channel.Ack(channel.id, tag, 0))
    channel.expect(replied(Channel.Reply, tag), replied(Handle.Reply, tag).under(HANDLES_REPLY))


@scenario("fast/2.2.8.8.one-reply-each")
@broken_by("confirms the last for all", withholds(Handle.Reply, when=lambda it: 11 <= it.confirm_tag < 20))
@broken_by("confirms twice", repeats(Handle.Reply, when=lambda it: it.confirm_tag == 15))
@broken_by("gives all one tag", rewrites(Handle.Reply, when=lambda it: it.confirm_tag >= 11, confirm_tag=11))
def confirmations_are_not_batched(server: Server) -> None:
    """Ten messages in one write get ten replies, with their tags, in their order."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    tags = range(11, 21)
    handle.send(*(frame for tag in tags for frame in handle.carries(queue, b"%d" % tag, tag=tag)))
    for tag in tags:
        handle.expect(replied(Handle.Reply, tag))
    handle.connection.lives()
    handle.got_nothing()


@scenario("fast/2.2.8.8.nothing-overtakes-reply")
@broken_by(
    "lists before it confirms",
    adds(Handle.Reply, lambda it: Handle.Index(it.handle_id), before=True, when=is_tagged),
)
@broken_by(
    "confirms SEND before it lists",
    adds(Handle.Index, lambda it: Handle.Reply(it.handle_id, TAG + 1, OK), before=True),
)
@broken_by("does not confirm", withholds(Handle.Reply, when=is_tagged))
def nothing_comes_before_what_it_follows(server: Server) -> None:
    """HANDLE REPLY of CONSUME, HANDLE INDEX of QUERY, HANDLE REPLY of SEND come in the order asked for."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    handle.send(
        handle.consuming(queue, confirm_tag=TAG),
        Handle.Query(handle.id, 0, queue),
        *handle.carries(queue, b"last", tag=TAG + 1),
    )
    handle.expect(replied(Handle.Reply, TAG))
    handle.expect(Handle.Index)
    are_confirmed(handle, [TAG + 1], b"last")


def later(turn: AnyTurn) -> None:
    """Confirms a message, and never stores it."""


@scenario("fast/2.2.8.8.confirmed-is-done")
@broken_by("confirms messages that it does not store", Fault.changes("handle send: is done", later))
@broken_by("confirms acknowledgements that it forgets", Fault.changes("channel ack: is taken", later))
def confirmed_commands_are_done(server: Server) -> None:
    """Behind its reply a message is listed elsewhere; behind that of its ACK it is gone."""
    queue, browser = server.queue(), server.handle()
    sends(server.handle(new_connection=True), queue, b"done")
    server.judge("one message is listed", "another number", len(indexed(browser, queue)) == 1)
    reader = server.handle(new_connection=True).consume(queue)
    number = reader.messages(1)[0].command.message_nbr
    tag = reader.connection.tag()
    reader.send(Channel.Ack(reader.channel.id, tag, number))
    reader.expect(replied(Channel.Reply, tag) | replied(Handle.Reply, tag))
    reader.connection.close()
    server.judge("none is left", "some are", not indexed(browser, queue))


@scenario("fast/2.2.8.8.effects-before-reply")
@broken_by(
    "confirms before it tells the name",
    Fault.changes(
        "handle consume: is done",
        answer=lambda turn: (
            Handle.Reply(turn.handle.id, turn.event.confirm_tag, OK),
            Handle.Created(turn.handle.id, turn.handle.consumers[-1].queue.name),
        ),
    ),
)
@broken_by("tells no name", withholds(Handle.Created))
def effects_come_before_the_reply(server: Server) -> None:
    """HANDLE CREATED comes before the confirmation of the HANDLE CONSUME that made the queue."""
    handle = server.handle()
    tag = handle.connection.tag()
    handle.tries(handle.consuming("", dynamic=True, confirm_tag=tag), Handle.Created)
    handle.expect(replied(Handle.Reply, tag))


# -- priorities ----------------------------------------------------------------------------------------


def amid_a_message(turn: AnyTurn) -> bool:
    """A message on a channel is not whole yet."""
    return any(each.assembly is not None for each in turn.connection.channels.values())


def deaf(kind: type[Command]) -> Row[Any]:
    """Make a row that does nothing while a message is not whole."""
    return Row(f"{kind.full_name}: has to wait", ConnectionState.OPEN, kind, amid_a_message)


@scenario("fast/2.2.9.connection-commands-first")
@broken_by("has PING wait", Fault.inserts("ping: is answered", deaf(Connection.Ping)))
@broken_by("has the close wait", Fault.inserts("close: is answered", deaf(Connection.Close)))
def connection_commands_do_not_wait(server: Server) -> None:
    """Amid the fragments of a message PING is answered, and CONNECTION CLOSE, too."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    tag = handle.connection.tag()
    first, *parts = handle.carries(queue, b"body" * FRAGMENT, tag=tag, most=FRAGMENT)
    handle.send(first)
    handle.connection.lives()
    handle.send(*parts)
    handle.expect(replied(Handle.Reply, tag))
    handle.send(first)
    handle.connection.tries(Connection.Close(OK), Connection.Close)
