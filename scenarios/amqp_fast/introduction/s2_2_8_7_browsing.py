"""2.2.8.7 Browsing Queues and Topics."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    carries,
    hears,
    ignores,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import answered, closed_anyhow, is_error, message, that
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.entities import Queue
from harness.amqp_fast.peer.refusals import refuses
from harness.amqp_fast.peer.tables.receiving import show
from harness.amqp_fast.wire.vocabulary import OK, Handle
from scenarios.amqp_fast.talk import indexed
from scenarios.registry import broken_by, scenario

HEAD: dict[str, Any] = {
    "persistent": True,
    "priority": 3,
    "mime_type": b"text/plain",
    "encoding": b"utf-8",
    "identifier": b"the first",
}
STRAY = 77
"""A handle that is never opened."""
SEEN = "redelivered is a hint (2166): set, it says that somebody has seen the message"


def takes_it(turn: AnyTurn) -> None:
    """Shows a message, and takes it out of its queue."""
    show(turn)
    queue = queue_of(turn)
    for each in [each for each in queue.messages if each.id == turn.event.message_nbr]:
        queue.messages.remove(each)


def puts_it_last(turn: AnyTurn) -> None:
    """Shows a message, and puts it behind the others."""
    show(turn)
    queue = queue_of(turn)
    for each in [each for each in queue.messages if each.id == turn.event.message_nbr][:1]:
        queue.messages.remove(each)
        queue.store(each.message)


def queue_of(turn: AnyTurn) -> Queue:
    host = turn.connection.host
    assert host is not None
    return host.queues[turn.handle.asked]


def shows(handle: FastHandle, number: int, body: bytes, **values: object) -> Any:
    """Judge that BROWSE is answered by this message; give it."""
    handle.send(Handle.Browse(handle.id, 0, number))
    return handle.hears(body, **values)[0]


@scenario("fast/2.2.8.7.browsing-disturbs-nothing")
@broken_by("takes the messages", Fault.changes("handle browse: is answered", takes_it))
@broken_by("changes their order", Fault.changes("handle browse: is answered", puts_it_last))
def browsed_messages_stay_as_they_are(server: Server) -> None:
    """Two messages are listed and shown twice; then a consumer gets both, in their order."""
    queue, browser = server.queue(b"one", b"two"), server.handle()
    listed = indexed(browser, queue)
    for number, body in [*zip(listed, (b"one", b"two"), strict=False)] * 2:
        shows(browser, number, body)
    server.judge("both are listed", "others", len(indexed(browser, queue)) == 2)
    reader = server.handle(new_connection=True).consume(queue)
    for body in (b"one", b"two"):
        anew = message(body, delivered=True, redelivered=False)
        reader.expect(anew, message(body, delivered=True).recorded(SEEN))


def is_stray(command: Any) -> bool:
    return bool(command.handle_id == STRAY)


@scenario("fast/2.2.8.7.browsing-needs-handle")
@broken_by("says nothing", Fault.drops("handle: is not open"))
@broken_by("lists", answers(Handle.Query, lambda it: Handle.Index(it.handle_id), when=is_stray))
@broken_by("replies", answers(Handle.Browse, lambda it: Handle.Reply(it.handle_id, it.confirm_tag, 505)))
def browsing_by_no_handle_is_refused(server: Server) -> None:
    """QUERY and BROWSE by a handle that was never opened are refused by a close."""
    queue = server.queue(b"one")
    server.handle().listed(queue)
    for command in (Handle.Query(STRAY, 0, queue), Handle.Browse(STRAY, 1, 0)):
        server.channel(new_connection=True).unopened(STRAY).tries(command, closed_anyhow())


@scenario("fast/2.2.8.7.index-lists-available")
@broken_by("lists one alone", rewrites(Handle.Index, message_list=lambda listed: listed[:1]))
@broken_by("lists what is not there", rewrites(Handle.Index, message_list=b"7-9"))
@broken_by("lists ends", rewrites(Handle.Index, message_list=lambda it: it.replace(b"-", b" ")))
def index_lists_what_is_there(server: Server) -> None:
    """Nothing, then three messages that can all be shown, then two, when one has been consumed."""
    queue, browser = server.queue(), server.handle()
    server.judge("nothing is listed", "something", not indexed(browser, queue))
    bodies = [b"one", b"two", b"three"]
    server.handle().publish(queue, *bodies)
    listed = indexed(browser, queue)
    server.judge("three numbers", f"{len({*listed})}", len(listed) == len({*listed}) == len(bodies))
    for number, body in zip(listed, bodies, strict=True):
        shows(browser, number, body)
    reader = server.handle(new_connection=True).consume(queue, prefetch=1)
    reader.messages(1)
    reader.pause()
    reader.channel.ack()
    server.judge("two numbers", "others", len(indexed(browser, queue)) == 2)


@scenario("fast/2.2.8.7.browse-answered-by-notify")
@broken_by("answers by HANDLE SEND", replaces(Handle.Notify, lambda it: Handle.Send(it.handle_id)))
@broken_by("says nothing", ignores(Handle.Browse))
@broken_by("loses the end of it", carries(Handle.Notify, lambda octets: octets[:-1]))
@broken_by("names another number", rewrites(Handle.Notify, message_nbr=lambda number: number + 1))
@broken_by("names no destination", rewrites(Handle.Notify, dest_name=b""))
def browsed_message_comes_by_notify(server: Server) -> None:
    """A message comes with the number that was listed, its destination, and header and body as sent."""
    queue, browser = server.queue(b"body", **HEAD), server.handle()
    (number,) = indexed(browser, queue)
    values = {"handle_id": browser.id, "message_nbr": number, "dest_name": queue.encode()}
    shows(browser, number, b"body", head=HEAD, **values)


@scenario("fast/2.2.8.7.browsed-not-delivered")
@broken_by("flags both", rewrites(Handle.Notify, delivered=True))
@broken_by("flags none", rewrites(Handle.Notify, delivered=False))
def browsed_message_is_not_delivered(server: Server) -> None:
    """delivered is zero in what is browsed, and one in what is consumed."""
    queue, browser = server.queue(b"one", b"two"), server.handle()
    shows(browser, indexed(browser, queue)[0], b"one", delivered=False)
    browser.consume(queue).hears(b"one", b"two", delivered=True)


@scenario("fast/2.2.8.7.browsed-as-often-as-needed")
@broken_by("shows each once", Fault.changes("handle browse: is answered", takes_it))
@broken_by("shows three in all", ignores(Handle.Browse, skip=3))
@broken_by("shows the first again and again", hears(Handle.Browse, message_nbr=0))
def messages_are_browsed_as_often_as_needed(server: Server) -> None:
    """Three messages are asked for twice in one write; all six answers come in the order asked for."""
    bodies = [b"one", b"two", b"three"]
    queue, browser = server.queue(*bodies), server.handle()
    listed = indexed(browser, queue)
    browser.send(*[Handle.Browse(browser.id, 0, number) for number in listed * 2])
    browser.hears(*bodies * 2)


@scenario("fast/2.2.8.7.vanished-told-by-reply")
@broken_by("says nothing", withholds(Handle.Reply, when=lambda it: is_error(it.reply_code)))
@broken_by(
    "closes the handle",
    Fault.changes("handle browse: of no message is told", refuses(404, "not found"), answer=None),
)
@broken_by("replies that all is well", rewrites(Handle.Reply, reply_code=OK))
@broken_by("loses the tag", rewrites(Handle.Reply, when=lambda it: is_error(it.reply_code), confirm_tag=0))
def vanished_message_is_told_by_a_reply(server: Server) -> None:
    """A message that was consumed meanwhile is not found, which a reply tells; the handle stays open."""
    queue, browser = server.queue(b"one", b"two"), server.handle()
    first, second = indexed(browser, queue)
    reader = server.handle(new_connection=True).consume(queue, prefetch=1)
    reader.messages(1)
    reader.pause()
    reader.channel.ack()
    shows(browser, second, b"two")
    tag = browser.connection.tag()
    tells = that(
        answered(Handle.Reply),
        "with the tag sent and a reply code of 3xx to 5xx",
        lambda seen: seen.command.confirm_tag == tag and is_error(seen.command.reply_code),
    )
    browser.tries(Handle.Browse(browser.id, tag, first), tells)
    shows(browser, second, b"two")
