"""3.5.16 Command Flow Summary: what servers answer, and what they never expect."""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, answers, hears, ignores, replaces, rewrites
from harness.amqp_fast.client.channel import carrying
from harness.amqp_fast.client.link import Said
from harness.amqp_fast.client.outcomes import connection_ends, message, refused, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import MESSAGE_NOT_FOUND, NOT_IMPLEMENTED, OK, Handle, MessageHead
from scenarios.amqp_fast.talk import indexed
from scenarios.registry import broken_by, scenario, scenarios_for

NEVER = "never expected: is refused"
PASSED_OVER = "the line says when it is expected, and not what follows otherwise (2407)"
FROM_SERVERS: dict[type[Command], Said] = {
    Handle.Created: Handle.Created(1, "name"),
    Handle.Notify: carrying(Handle.Notify(1, 1, delivered=True, dest_name="name"), MessageHead().encode()),
    Handle.Index: Handle.Index(1, 0, "0-2"),
    Handle.Reply: Handle.Reply(1, 1, OK),
}
"""Commands that only servers send, for an open handle."""


@scenarios_for(
    [
        ("fast/3.5.16.created-fatal", Handle.Created),
        ("fast/3.5.16.notify-fatal", Handle.Notify),
        ("fast/3.5.16.index-fatal", Handle.Index),
        ("fast/3.5.16.reply-fatal", Handle.Reply),
    ]
)
@broken_by("passes over it", Fault.changes(NEVER, effects=()))
@broken_by(
    "closes the handle", lambda kind: answers(kind, lambda it: Handle.Close(it.handle_id, NOT_IMPLEMENTED))
)
@broken_by("replies", lambda kind: answers(kind, lambda it: Handle.Reply(it.handle_id, 0, NOT_IMPLEMENTED)))
def command_of_servers_closes_the_connection(server: Server, kind: type[Command]) -> None:
    """A PING is answered; behind the command, for an open handle, the connection is closed."""
    connection = server.connection()
    connection.channel().handle(1)
    connection.alive()
    connection.tries(FROM_SERVERS[kind], *connection_ends())


@scenario("fast/3.5.16.browse-answered")
@broken_by("answers by HANDLE SEND", replaces(Handle.Notify, lambda it: Handle.Send(it.handle_id)))
@broken_by("says nothing", ignores(Handle.Browse))
@broken_by("delivers it", rewrites(Handle.Notify, delivered=True))
@broken_by("shows another one", hears(Handle.Browse, message_nbr=0))
@broken_by(
    "does not find it",
    answers(Handle.Browse, lambda it: Handle.Reply(it.handle_id, it.confirm_tag, MESSAGE_NOT_FOUND)),
)
def browse_is_answered_by_the_message(server: Server) -> None:
    """HANDLE BROWSE of the second message is answered by it, not delivered."""
    queue, browser = server.queue(b"one", b"two"), server.handle()
    browser.send(Handle.Browse(browser.id, 0, indexed(browser, queue)[1]))
    browser.observe(message(b"two", delivered=False, handle_id=browser.id))


def delivers(ready: Any) -> Handle.Notify:
    """Takes it for a wish."""
    return Handle.Notify(ready.handle_id, 1, recovery=True, delivered=True)


@scenario("fast/3.5.16.ready-unasked-refused")
@broken_by("sends something", answers(Handle.Ready, delivers))
@broken_by("confirms it", answers(Handle.Ready, lambda it: Handle.Reply(it.handle_id, 0, OK)))
@broken_by("closes it as if all were well", rewrites(Handle.Close, reply_code=OK))
def ready_without_prepare_is_refused(server: Server) -> None:
    """HANDLE READY for which nothing was prepared is refused, or passed over: a later command is answered."""
    handle = server.channel(new_connection=True, restartable=True).handle()
    later = Handle.Open(handle.channel.id, handle.connection.next_handle(), tag := handle.connection.tag())
    passed = replied(Handle.Reply, tag).recorded(PASSED_OVER)
    handle.send(Handle.Ready(handle.id, 0), later)
    handle.expect(*refused(Handle.Close), passed)
