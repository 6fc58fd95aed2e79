"""3.5.11 HANDLE INDEX Command: what is listed, and how much at once."""

from typing import Any

from harness.amqp_fast.broken.deviations import answers, hears, ignores, repeats, replaces, rewrites
from harness.amqp_fast.client.channel import FastHandle, numbers
from harness.amqp_fast.client.outcomes import fields
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import MESSAGE_NOT_FOUND, OK, Handle
from scenarios.amqp_fast.talk import indexed
from scenarios.registry import broken_by, scenario

HUNDRED = 100
MOST = 2000
"""Messages of which a server that lists all of them at once need not have a limit."""


def fills(handle: FastHandle, queue: str, count: int) -> None:
    """Send so many messages, of which the last is confirmed. Raises ControlFailed."""
    handle.send(*(each for number in range(count - 1) for each in handle.carries(queue, b"%d" % number)))
    handle.publish(queue, b"the last")


def asks(handle: FastHandle, queue: str, first: int = 0) -> tuple[int, list[int]]:
    """Judge that HANDLE QUERY is answered; give message-nbr and the numbers listed."""
    index = handle.tries(Handle.Query(handle.id, first, queue), Handle.Index)
    return index.message_nbr, list(numbers(index.message_list))


@scenario("fast/3.5.11.answers-query")
@scenario("fast/3.5.16.query-answered")
@broken_by("says nothing", ignores(Handle.Query))
@broken_by("answers one of three", ignores(Handle.Query, skip=3))
@broken_by("answers twice", repeats(Handle.Index))
@broken_by("answers for another handle", rewrites(Handle.Index, handle_id=lambda number: number + 1))
@broken_by("lists what is not there", rewrites(Handle.Index, message_list=b"0"))
@broken_by("says nothing of an empty queue", replaces(Handle.Index, when=lambda it: not it.message_list))
@broken_by("confirms instead", answers(Handle.Query, lambda it: Handle.Reply(it.handle_id, 0, OK)))
def each_query_is_answered_by_one_index(server: Server) -> None:
    """An empty queue has an empty list; three HANDLE QUERYs at once have three answers."""
    queue, handle = server.queue(), server.handle()
    query = Handle.Query(handle.id, 0, queue)
    handle.tries(query, fields(Handle.Index, handle_id=handle.id, message_list=b""))
    handle.stays_quiet()
    handle.send(query, query, query)
    for _ in range(3):
        handle.expect(fields(Handle.Index, handle_id=handle.id, message_list=b""))
    handle.stays_quiet()
    server.judge("one number", "none", len(indexed(handle, server.queue(b"one"))) == 1)


@scenario("fast/3.5.11.complete-is-zero")
@broken_by("tells the highest number always", rewrites(Handle.Index, message_nbr=2))
@broken_by("tells how many there are", rewrites(Handle.Index, message_nbr=3))
@broken_by("lists two", rewrites(Handle.Index, message_list=lambda told: told[:1]))
def complete_list_has_message_nbr_zero(server: Server) -> None:
    """All of three messages are listed, with message-nbr zero."""
    further, listed = asks(server.handle(), server.queue(b"one", b"two", b"three"))
    server.judge("three numbers", f"{len(listed)}", len(listed) == 3)
    server.judge("message-nbr zero", "another number", further == 0)


def from_zero(listed: Any) -> bytes:
    """Lists as many numbers, from zero on."""
    return b" ".join(b"%d" % number for number in range(len([*numbers(listed)])))


def browsed_anew(index: Any) -> Handle.Reply:
    return Handle.Reply(index.handle_id, index.confirm_tag, MESSAGE_NOT_FOUND)


@scenario("fast/3.5.11.ids-resolve")
@broken_by("numbers the list anew", rewrites(Handle.Index, message_list=from_zero))
@broken_by("shows the same always", hears(Handle.Browse, message_nbr=2))
@broken_by("finds nothing it has told", answers(Handle.Browse, browsed_anew))
@broken_by("finds the first five", answers(Handle.Browse, browsed_anew, when=lambda it: it.message_nbr > 4))
def listed_messages_are_shown(server: Server) -> None:
    """Two of five messages are consumed, two more are sent: of the five that are listed each is shown."""
    queue, browser = server.queue(b"1", b"2", b"3", b"4", b"5"), server.handle()
    reader = server.handle(new_connection=True).consume(queue, prefetch=2)
    reader.messages(2)
    reader.pause()
    reader.channel.ack()
    server.handle().publish(queue, b"6", b"7")
    shown = []
    for number in indexed(browser, queue):
        browser.send(Handle.Browse(browser.id, 0, number))
        shown.append(browser.observe(Handle.Notify).body)
    server.judge("3 to 7", "others", sorted(shown) == [b"3", b"4", b"5", b"6", b"7"])


@scenario("fast/3.5.11.limit-is-the-server-s")
@broken_by("lists what it told before", hears(Handle.Query, message_nbr=0))
@broken_by("never comes to the end", rewrites(Handle.Index, message_list=b"0-9", message_nbr=9))
@broken_by("lists ten", rewrites(Handle.Index, message_list=b"0-9", message_nbr=0))
def server_lists_as_many_as_it_likes(server: Server) -> None:
    """A hundred messages are listed in all, by as many queries as it takes; how many at once is recorded."""
    queue, browser = server.queue(), server.handle()
    fills(server.handle(), queue, HUNDRED)
    further, listed = asks(browser, queue)
    server.note("a hundred messages are listed at once" if not further else "they are listed in parts")
    found, before = {*listed}, 0
    while further and len(found) > before:
        before = len(found)
        further, listed = asks(browser, queue, further + 1)
        found |= {*listed}
    server.judge("a hundred numbers", "others", len(found) == HUNDRED and not further)


@scenario("fast/3.5.11.truncated-is-told")
@broken_by("does not tell it", rewrites(Handle.Index, message_nbr=0))
@broken_by("tells the next number", rewrites(Handle.Index, message_nbr=lambda number: number and number + 1))
@broken_by("tells the lowest", rewrites(Handle.Index, message_nbr=lambda number: number and 1))
@broken_by("begins anew", hears(Handle.Query, message_nbr=0))
def list_that_is_cut_says_so(server: Server) -> None:
    """Where not all messages are listed message-nbr is the highest that is; from there on others are."""
    queue, browser = server.queue(), server.handle()
    count = HUNDRED
    fills(server.handle(), queue, count)
    further, listed = asks(browser, queue)
    if len(listed) == count:
        fills(server.handle(), queue, MOST - count)
        count = MOST
        further, listed = asks(browser, queue)
    if len(listed) == count:
        server.inapplicable(f"the server lists {MOST} messages at once")
    server.judge("message-nbr is the highest number told", "another number", further == max(listed))
    _, others = asks(browser, queue, further + 1)
    server.judge("others are listed", "the same, or none", bool({*others} - {*listed}))
