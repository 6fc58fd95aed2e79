"""3.5.7 HANDLE QUERY Command, 3.5.8 HANDLE BROWSE Command."""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, hears, ignores, replaces, rewrites, withholds
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import answered, closed_anyhow, fields, message, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import receiving
from harness.amqp_fast.wire.vocabulary import MESSAGE_NOT_FOUND, OK, Handle
from scenarios.amqp_fast.destinations.common import REFUSED
from scenarios.amqp_fast.destinations.s3_5_3_handle_send import ignores_all
from scenarios.registry import broken_by, scenario

NOT_FOUND = "handle browse: of no message is told"
NO_QUEUE = "handle query: of no queue is refused"
BEYOND = 1_000_000
"""An ID that no message has in a queue of a scenario."""


def not_found(reply: Any) -> bool:
    """Find the reply that tells that a message is not found."""
    return bool(reply.reply_code == MESSAGE_NOT_FOUND)


def _next(number: int) -> int:
    return number + 1


def _well(turn: AnyTurn) -> Any:
    return (Handle.Reply(turn.handle.id, 0, OK),)


@scenario("fast/3.5.7.from-that-number-on")
@broken_by("lists all", hears(Handle.Query, message_nbr=0))
@broken_by(
    "leaves out the first", hears(Handle.Query, lambda it: it.message_nbr > 0, message_nbr=lambda n: n + 1)
)
def query_begins_at_its_number(server: Server) -> None:
    """From the third ID on the third and the fourth message are listed."""
    queue, handle = server.queue(b"1", b"2", b"3", b"4"), server.handle()
    every = handle.listed(queue)
    server.judge("the last two", "others", handle.listed(queue, every[2]) == every[2:])


@scenario("fast/3.5.7.zero-means-all")
@broken_by("leaves out zero", hears(Handle.Query, message_nbr=1))
def zero_means_all(server: Server) -> None:
    """From zero on three messages are listed."""
    queue, handle = server.queue(b"1", b"2", b"3"), server.handle()
    server.judge("three messages", "others", len(handle.listed(queue, 0)) == 3)


@scenario("fast/3.5.7.of-its-destination")
@broken_by("lists what it has", rewrites(Handle.Index, message_list=b"0-1"))
@broken_by("lists nothing", rewrites(Handle.Index, message_list=b""))
def query_is_of_its_destination(server: Server) -> None:
    """Of one queue two messages are listed, of the other none."""
    full, empty, handle = server.queue(b"1", b"2"), server.queue(), server.handle()
    found = [len(handle.listed(queue)) for queue in (full, empty)]
    server.judge("two and none", "others", found == [2, 0])


@scenario("fast/3.5.7.unknown-destination")
@broken_by("says nothing", ignores_all(NO_QUEUE))
@broken_by(
    "confirms it",
    Fault.changes(NO_QUEUE, effects=(), answer=lambda turn: (Handle.Reply(turn.handle.id, 0, OK),)),
)
def unknown_destination_is_not_examined(server: Server) -> None:
    """A queue is listed; a name that nobody made is refused, or has nothing."""
    handle = server.handle()
    handle.listed(server.queue())
    empty = fields(Handle.Index, message_list=b"").recorded("it may be the name of a topic")
    handle.tries(Handle.Query(handle.id, 0, server.name("queue")), *REFUSED, empty)


def _hides_the_last(turn: AnyTurn) -> Any:
    queue = turn.connection.host.queues[turn.event.dest_name] if turn.connection.host else None
    hidden = queue.messages.pop() if queue and queue.messages else None
    try:
        return receiving.index(turn)
    finally:
        if queue is not None and hidden is not None:
            queue.messages.append(hidden)


@scenario("fast/3.5.7.lists-outstanding")
@broken_by("hides the last", Fault.changes("handle query: is answered", answer=_hides_the_last))
def query_lists_all_that_is_there(server: Server) -> None:
    """After each of five messages as many are listed as were put."""
    queue, handle = server.queue(), server.handle()
    for count in range(1, 6):
        handle.publish(queue, b"m")
        server.judge(f"{count} messages", "others", len(handle.listed(queue)) == count)


@scenario("fast/3.5.7.selector-without-type")
@broken_by("selects none", rewrites(Handle.Index, message_list=b""))
def no_selector_selects_all(server: Server) -> None:
    """With empty selector and mime-type two messages with headers are listed."""
    queue, handle = server.queue(b"1", b"2", headers={"COLOUR": b"red"}), server.handle()
    server.judge("two messages", "others", len(handle.listed(queue)) == 2)


@scenario("fast/3.5.7.unknown-selector-type")
@broken_by("says nothing", ignores(Handle.Query))
def unknown_selector_is_answered(server: Server) -> None:
    """A selector of a type that nobody has is refused, or answered."""
    queue, handle = server.queue(b"1"), server.handle()
    query = Handle.Query(handle.id, 0, queue, b"colour is red", b"x-conformance/none")
    handle.tries(query, closed_anyhow().recorded(), answered(Handle.Index).recorded())


@scenario("fast/3.5.8.tag-of-not-found")
@broken_by("tells no tag", rewrites(Handle.Reply, not_found, confirm_tag=0))
@broken_by("says nothing", withholds(Handle.Reply, not_found))
def tag_tells_what_was_not_found(server: Server) -> None:
    """Of three HANDLE BROWSEs at once the one that finds nothing is told by its tag."""
    handle = server.handle()
    first, second = handle.listed(server.queue(b"1", b"2"))
    every = zip((7, 8, 9), (first, BEYOND, second), strict=True)
    handle.send(*(Handle.Browse(handle.id, tag, number) for tag, number in every))
    found, missed = (
        message() | replied(Handle.Reply, 7) | replied(Handle.Reply, 9),
        replied(Handle.Reply, 8, 310),
    )
    codes = []
    while MESSAGE_NOT_FOUND not in codes:
        seen = handle.expect(found | missed)
        codes.append(getattr(seen, "reply_code", OK))


@scenario("fast/3.5.8.ids-of-index")
@broken_by("finds none", Fault.changes("handle browse: is answered", effects=(), answer=receiving.not_found))
@broken_by("tells another", rewrites(Handle.Notify, message_nbr=lambda number: number + 1))
def listed_messages_are_found(server: Server) -> None:
    """Each of three messages that are listed is found, and comes with its own ID."""
    queue, handle = server.queue(b"1", b"2", b"3"), server.handle()
    for number, body in zip(handle.listed(queue), (b"1", b"2", b"3"), strict=True):
        handle.send(Handle.Browse(handle.id, 0, number))
        handle.observe(message(body, message_nbr=number))


@scenario("fast/3.5.8.unlisted-id")
@broken_by("says nothing", Fault.changes(NOT_FOUND, answer=None))
@broken_by("confirms it", rewrites(Handle.Reply, not_found, reply_code=OK))
def what_was_not_listed_is_not_found(server: Server) -> None:
    """A listed ID is found; one beyond all that are listed is not."""
    handle = server.handle()
    (number,) = handle.listed(server.queue(b"1"))
    handle.send(Handle.Browse(handle.id, 0, number))
    handle.control("HANDLE BROWSE", Handle.Notify)
    closed = [each.recorded("2.2.8.7: most failures close") for each in REFUSED]
    handle.tries(Handle.Browse(handle.id, 7, BEYOND), replied(Handle.Reply, 7, MESSAGE_NOT_FOUND), *closed)


@scenario("fast/3.5.8.gone-is-told")
@broken_by(
    "closes the handle",
    replaces(
        Handle.Reply,
        lambda it: Handle.Close(it.handle_id, MESSAGE_NOT_FOUND),
        when=not_found,
    ),
)
@broken_by("says nothing", Fault.changes(NOT_FOUND, answer=None))
def message_that_is_gone_is_told(server: Server) -> None:
    """A listed message that another handle has consumed is not found: 310, and the handle stays open."""
    queue, handle = server.queue(b"1"), server.handle()
    (number,) = handle.listed(queue)
    reader = server.handle().consume(queue)
    reader.messages(1)
    reader.channel.ack()
    handle.tries(Handle.Browse(handle.id, 7, number), replied(Handle.Reply, 7, MESSAGE_NOT_FOUND))
    handle.confirms(Handle.Flow(handle.id))


@scenario("fast/3.5.8.told-without-a-tag")
@broken_by(
    "closes the handle",
    replaces(
        Handle.Reply,
        lambda it: Handle.Close(it.handle_id, MESSAGE_NOT_FOUND),
        when=not_found,
    ),
)
def not_found_is_told_without_a_tag(server: Server) -> None:
    """Without a tag it is told as well that the message is not found; or nothing comes."""
    handle = server.handle()
    handle.listed(server.queue(b"1"))
    handle.send(Handle.Browse(handle.id, 0, BEYOND), Handle.Flow(handle.id, 7))
    quiet = replied(Handle.Reply, 7).recorded("a tag of zero wants no confirmation")
    if handle.expect(replied(Handle.Reply, 0, MESSAGE_NOT_FOUND), quiet).confirm_tag != 7:
        handle.expect(replied(Handle.Reply, 7))


@scenario("fast/3.5.8.notify-not-delivered")
@scenario("fast/3.5.16.browse-answered")
@broken_by("marks it as delivered", rewrites(Handle.Notify, delivered=True))
@broken_by("sends what clients send", replaces(Handle.Notify, lambda it: Handle.Send(it.handle_id)))
@broken_by("names another handle", rewrites(Handle.Notify, handle_id=lambda number: number + 1))
def browsed_message_is_not_delivered(server: Server) -> None:
    """A message that is browsed comes by HANDLE NOTIFY for the handle, with delivered zero."""
    handle = server.handle()
    (number,) = handle.listed(server.queue(b"shown"))
    handle.send(Handle.Browse(handle.id, 0, number))
    handle.observe(message(b"shown", handle_id=handle.id, delivered=False))


def _counts(turn: AnyTurn) -> None:
    receiving.show(turn)
    turn.channel.take_number()


def _needs_an_ack(turn: AnyTurn) -> None:
    receiving.show(turn)
    for consumer in turn.handle.consumers:
        consumer.outstanding += 1


@scenario("fast/3.5.8.browsed-needs-no-ack")
@broken_by("counts it", Fault.changes("handle browse: is answered", _counts))
@broken_by("wants an ACK", Fault.changes("handle browse: is answered", _needs_an_ack))
def browsed_message_needs_no_ack(server: Server) -> None:
    """Behind a browsed message one is delivered with a prefetch of one and the channel's first number."""
    queue, handle, fresh = server.queue(), server.handle(), server.handle()
    handle.consume(queue, prefetch=1)
    handle.pause()
    server.handle().publish(queue, b"1", b"2")
    handle.send(Handle.Browse(handle.id, 0, handle.listed(queue)[0]))
    handle.observe(message(b"1", delivered=False))
    handle.send(Handle.Flow(handle.id))
    (first,) = handle.hears(b"1", delivered=True)
    (number,) = (each.command.message_nbr for each in fresh.consume(queue, prefetch=1).messages(1))
    server.judge("the first number of a channel", "a later one", first.command.message_nbr == number)
