"""3.5.15 HANDLE CLOSE Command."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    answers,
    hears,
    ignores,
    replaces,
    rewrites,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import answered, fields, refused, replied, silence
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from scenarios.amqp_fast.talk import indexed, sends
from scenarios.registry import broken_by, scenario

ANSWERED, UNOPENED = "handle close: is answered", "handle: is not open"
AGAIN, ENDS = "handle open: again is refused", "handle closing: ends with close"
STRAY = 77
"""A handle that is never opened."""
NOTHING = "there is nothing to close"
NO_OCCASION = "the server tells this error by closing more than the handle"


def is_stray(command: Handle.Close) -> bool:
    return command.handle_id == STRAY


def has_no_consumer(turn: AnyTurn) -> bool:
    return not turn.handle.consumers


def is_amid_nothing(turn: AnyTurn) -> bool:
    return turn.channel.assembly is None


def keep_consumers(turn: AnyTurn) -> None:
    """Closes a handle, and goes on to deliver by it."""
    del turn.connection.handles[turn.handle.id]


def closes(handle: FastHandle) -> None:
    """Judge that HANDLE CLOSE is answered by one, behind what was on its way. Raises Unmet."""
    handle.send(Handle.Close(handle.id, OK, "done"))
    on_its_way = answered(Handle.Notify, Handle.Reply)
    while not isinstance(handle.expect(Handle.Close, on_its_way), Handle.Close):
        pass


@scenario("fast/3.5.15.at-any-time")
@broken_by("wants consumers to be gone", Fault.changes(ANSWERED, condition=has_no_consumer))
@broken_by("wants messages to be completed", Fault.changes(ANSWERED, condition=is_amid_nothing))
@broken_by("says nothing", ignores(Handle.Close))
@broken_by("closes more than that", replaces(Handle.Close, Connection.Close(OK)))
def handle_is_closed_at_any_time(server: Server) -> None:
    """Right behind OPEN, while messages come, with some unacknowledged, and amid one: CLOSE is answered."""
    queue, connection = server.queue(b"1", b"2", b"3"), server.connection()
    handle = connection.channel().unopened()
    handle.send(handle.opening(confirm_tag=0))
    closes(handle)
    handle = connection.channel().handle()
    handle.send(handle.consuming(queue))
    closes(handle)
    handle.channel.close()
    handle = connection.channel().handle().consume(queue)
    handle.messages(3)
    closes(handle)
    handle = connection.channel().handle()
    handle.send(handle.carries(queue, bytes(100), most=60)[0])
    closes(handle)
    connection.lives()


@scenario("fast/3.5.15.names-an-open-handle")
@broken_by("confirms it", answers(Handle.Close, lambda it: Handle.Reply(it.handle_id, 0, OK), when=is_stray))
@broken_by("closes another one", hears(Handle.Close, handle_id=2, when=is_stray))
@broken_by("hangs it on the first", rewrites(Handle.Close, handle_id=1))
def closing_no_handle_is_refused(server: Server) -> None:
    """An open handle is closed; one that nobody opened is refused, or there is nothing to do."""
    channel = server.channel(new_connection=True)
    channel.handle(1).close()
    kept, stray = channel.handle(2), channel.unopened(STRAY)
    nothing = fields(Handle.Close, handle_id=STRAY, reply_code=OK) | silence()
    told = refused(Handle.Close)
    seen = stray.tries(Handle.Close(STRAY, OK), *told, nothing.recorded(NOTHING))
    if isinstance(seen, Handle.Close):
        server.judge("its own number", "another one", seen.handle_id == STRAY)
    if not isinstance(seen, Channel.Close | Connection.Close):
        kept.confirms(Handle.Flow(kept.id, 0, False))


@scenario("fast/3.5.15.reads-on-until-answered")
@broken_by("does not confirm it", Fault.changes("handle send: is done", answer=None))
@broken_by("confirms behind it", adds(Handle.Close, lambda it: Handle.Reply(it.handle_id, 9, OK)))
@broken_by("loses the message", ignores(Handle.Send))
@broken_by("says nothing", ignores(Handle.Close))
def what_was_sent_is_confirmed_before_the_close(server: Server) -> None:
    """A message and HANDLE CLOSE in one write: REPLY comes, then HANDLE CLOSE, then nothing of the handle."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    tag = handle.connection.tag()
    handle.send(*handle.carries(queue, b"one", tag=tag), Handle.Close(handle.id, OK))
    handle.expect(replied(Handle.Reply, tag))
    handle.expect(Handle.Close)
    handle.stays_quiet()
    server.judge("the message is listed", "another list", len(indexed(server.handle(), queue)) == 1)


@scenario("fast/3.5.15.discards-after-error")
@broken_by(
    "confirms what comes behind its close",
    Fault.changes(AGAIN, effects=(), answer=lambda turn: (Handle.Close(turn.handle.id, 503),)),
)
@broken_by("does not see the answer", ignores(Handle.Close))
@broken_by("closes the connection behind it", adds(Handle.Close, Connection.Close(503)))
def what_comes_behind_an_error_is_not_confirmed(server: Server) -> None:
    """A message behind the server's HANDLE CLOSE has no REPLY; when we have answered, the number is free."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    handle.send(handle.opening(confirm_tag=0))
    if not isinstance(handle.expect(*refused(Handle.Close), acknowledge=False), Handle.Close):
        server.inapplicable(NO_OCCASION)
    again = handle.opening()
    sent = handle.carries(queue, b"behind", tag=handle.connection.tag())
    handle.send(*sent, Handle.Close(handle.id, OK), again)
    opened = replied(Handle.Reply, again.confirm_tag)
    seen = handle.expect(opened, answered(Handle.Close).recorded(), acknowledge=False)
    if isinstance(seen, Handle.Close):
        handle.expect(opened)
    told = "closes once more" if isinstance(seen, Handle.Close) else "says nothing"
    server.note(f"behind its HANDLE CLOSE the server {told}")


@scenario("fast/3.5.15.number-free-again")
@broken_by("leaves it open", Fault.changes(ANSWERED, effects=()))
@broken_by("leaves its consumers", Fault.changes(ANSWERED, keep_consumers))
@broken_by("closes the channel", replaces(Handle.Close, Channel.Close(1, OK)))
@broken_by("opens each number once", ignores(Handle.Open, when=lambda it: it.handle_id == 2, skip=1))
def number_of_a_closed_handle_is_free(server: Server) -> None:
    """A handle that consumes is closed and opened again: it has no consumer; another one goes on."""
    queue, channel = server.queue(b"first"), server.channel(new_connection=True)
    other, handle = channel.handle(), channel.handle().consume(queue, no_ack=True)
    handle.messages(1)
    closes(handle)
    again = channel.unopened(handle.id)
    again.confirms(again.opening())
    sends(other, queue, b"one")
    again.stays_quiet()


@scenario("fast/3.5.15.messages-come-back")
@broken_by("leaves its consumers", Fault.changes(ANSWERED, keep_consumers))
@broken_by("loses what comes", ignores(Handle.Send, when=lambda it: it.dest_name != b""))
@broken_by("leaves it open", Fault.changes(ANSWERED, effects=()))
def messages_stay_when_the_consumer_is_gone(server: Server) -> None:
    """What is sent to a queue whose consumer closed its handle is not delivered, and listed."""
    queue = server.queue()
    handle = server.handle(new_connection=True).consume(queue)
    closes(handle)
    sends(server.handle(), queue, b"one")
    handle.stays_quiet()
    server.judge("one message is listed", "another list", len(indexed(server.handle(), queue)) == 1)
