"""2.2.8.2 Opening Channels and Handles, 2.2.8.3 Sending Messages, 2.2.8.4 Receiving Messages."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    answers,
    hears,
    ignores,
    repeats,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import closed, closed_anyhow, read_head, refused, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.refusals import FORBIDDEN, refuses
from harness.amqp_fast.peer.tables.handle import OPEN
from harness.amqp_fast.peer.turn import Row
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import Direction
from scenarios.amqp_fast.introduction.s2_2_8_5_acknowledging import leaves_handles
from scenarios.amqp_fast.talk import dynamic_name, indexed, sends
from scenarios.registry import broken_by, scenario, watch

LARGE = "fast/2.2.8.4.arriving-messages-notified"
NO_HANDLE = "it is on no handle that is open"
BETWEEN = "another command of the channel stands between the fragments"


# -- opening -------------------------------------------------------------------------------------------


@scenario("fast/2.2.8.2.handle-needs-channel")
@broken_by(
    "opens it anywhere",
    answers(Handle.Open, lambda it: confirming(it), when=lambda it: it.channel_id == 2),
)
@broken_by("says nothing", ignores(Handle.Open, when=lambda it: it.channel_id == 2))
def handle_on_no_channel_is_refused(server: Server) -> None:
    """HANDLE OPEN is confirmed on an open channel, and refused on one that was never opened."""
    connection = server.connection()
    connection.channel(1).handle()
    stray = connection.unopened(2).unopened()
    stray.tries(stray.opening(), *refused(Channel.Close), closed(Handle.Close).recorded(NO_HANDLE))


# -- sending -------------------------------------------------------------------------------------------


def has_unacknowledged(turn: AnyTurn) -> bool:
    """Takes no message while one waits for its ACK."""
    return bool(turn.channel.unacknowledged)


def is_paused(turn: AnyTurn) -> bool:
    """Takes no message from a handle that is paused."""
    return bool(turn.handle.paused)


def refusing(when: Any) -> Fault:
    """Refuses messages in a state in which they have to be taken."""
    row: Row[Handle.Send] = Row(
        "handle send: in bad time", OPEN, Handle.Send, when, (refuses(FORBIDDEN, "not now"),)
    )
    return Fault.inserts("handle send: by no producer is refused", row)


@scenario("fast/2.2.8.3.send-at-any-time")
@broken_by("waits for ACKs", refusing(has_unacknowledged))
@broken_by("takes nothing while paused", refusing(is_paused))
@broken_by("loses one", withholds(Handle.Notify, skip=3))
def messages_are_taken_at_any_time(server: Server) -> None:
    """Messages sent at once, amid unacknowledged ones, paused, and around other commands are all kept."""
    queue, browser = server.queue(), server.handle()
    handle = server.channel(new_connection=True).unopened()
    opening, tag = handle.opening(), handle.connection.tag()
    handle.send(opening, *handle.carries(queue, b"at once", tag=tag))
    handle.expect(replied(Handle.Reply, opening.confirm_tag))
    handle.expect(replied(Handle.Reply, tag))
    other = handle.channel.handle().consume(queue, prefetch=1)
    other.hears(b"at once")
    sends(handle, queue, b"unacknowledged")
    other.confirms(Handle.Flow(other.id, 0, True))
    sends(other, queue, b"paused")
    tag = handle.connection.tag()
    other.send(Handle.Query(other.id, 0, queue), *handle.carries(queue, b"amid", tag=tag))
    other.expect(Handle.Index)
    other.expect(replied(Handle.Reply, tag))
    tag = handle.connection.tag()
    other.channel.ack()
    other.send(Handle.Close(other.id, OK), *handle.carries(queue, b"behind", tag=tag))
    other.expect(Handle.Close)
    other.expect(replied(Handle.Reply, tag))
    server.judge("four messages wait", "another number", len(indexed(browser, queue)) == 4)
    browser.consume(queue).hears(b"unacknowledged", b"paused", b"amid", b"behind")


def confirming(command: Any) -> Handle.Reply:
    return Handle.Reply(command.handle_id, command.confirm_tag, OK)


def sends_stray(handle: FastHandle, queue: str) -> None:
    """Judge that a message on a handle that is not open is refused."""
    handle.send(*handle.carries(queue, b"stray", tag=handle.connection.tag()))
    handle.expect(closed_anyhow())


@scenario("fast/2.2.8.3.send-needs-open-handle")
@broken_by("says nothing", Fault.drops("handle: is not open"))
@broken_by(
    "confirms it",
    answers(Handle.Send, confirming, when=lambda it: it.handle_id > 9),
)
@broken_by("leaves it open", Fault.changes("handle close: is answered", lambda _: None))
@broken_by("leaves handles open", Fault.changes("channel close: is answered", leaves_handles))
def message_on_no_open_handle_is_refused(server: Server) -> None:
    """Messages on a handle never opened, closed, or of a closed channel are refused, and in no queue."""
    queue, reader = server.queue(), server.handle()
    server.handle().publish(queue, b"control")
    sends_stray(server.channel(new_connection=True).unopened(77), queue)
    once = server.handle(new_connection=True)
    once.close()
    sends_stray(once, queue)
    gone = server.handle(new_connection=True)
    gone.channel.close()
    sends_stray(gone, queue)
    reader.consume(queue).hears(b"control")
    reader.stays_quiet()


# -- receiving -----------------------------------------------------------------------------------------


@scenario("fast/2.2.8.4.no-delivery-unasked")
@broken_by(
    "delivers to whoever opens a handle",
    takes(Connection.Ping, Handle.Notify(1, 1, delivered=True)),
)
@broken_by("delivers with the reply", adds(Handle.Reply, lambda it: Handle.Notify(it.handle_id, 1)))
def nothing_is_delivered_unasked(server: Server) -> None:
    """An open handle gets nothing before HANDLE CONSUME, and then all that waits."""
    queue = server.queue(b"one", b"two")
    handle = server.channel(new_connection=True).unopened()
    handle.confirms(handle.opening())
    handle.connection.lives()
    handle.stays_quiet()
    handle.consume(queue).hears(b"one", b"two")


@scenario(LARGE)
@broken_by("sends what is there, and nothing later", withholds(Handle.Notify, skip=1))
@broken_by("sends another body", Fault.swaps(next_message=lambda queue, _: queue.messages[-1]))
@broken_by("loses the message", rewrites(Handle.Notify, partial=True))
def messages_come_as_they_arrive(server: Server) -> None:
    """Six messages, three of them in one write and one of several fragments, come in the order sent."""
    name = server.name("queue")
    reader = server.handle().consume(name, dynamic=True, prefetch=10)
    sender = server.handle(new_connection=True)
    large = b"large" * (sender.connection.frame_max // 4)
    for body in (b"one", b"two", large):
        sends(sender, name, body)
        reader.hears(body)
    bodies = [b"four", b"five", b"six"]
    sender.send(*(frame for body in bodies for frame in sender.carries(name, body)))
    reader.hears(*bodies)


class Message(State):
    """The message of which fragments are due on each channel, by its handle and number; what it lacks."""

    def __init__(self) -> None:
        self.channels: dict[int, int] = {}
        self.begun: dict[int, tuple[tuple[int, int], int | None]] = {}


@watch(
    "fast/2.2.8.4.fragments-uninterrupted",
    during=LARGE,
    looks_at=went(Handle.Open) + came(Handle.Notify),
    start=Message,
    gap=Gaps.STOPS,
)
@broken_by("numbers each fragment", rewrites(Handle.Notify, when=lambda it: it.partial, message_nbr=99))
@broken_by("says each fragment twice", repeats(Handle.Notify, when=lambda it: it.partial))
@broken_by("loses fragments", withholds(Handle.Notify, when=lambda it: it.partial))
def fragments_come_one_after_the_other(state: Message, each: Passage) -> Found:
    """A message that is partial goes on, on its channel, until it is as long as its header says."""
    said: Any = each.said
    if each.direction is Direction.SENT:
        state.channels[said.handle_id] = said.channel_id
        return None
    place = state.channels.get(said.handle_id, 0)
    whose = (said.handle_id, said.message_nbr)
    due, left = state.begun.pop(place, (whose, None))
    if due != whose:
        return "a fragment of another message stands between"
    if left is None and not said.recovery:
        left = announced(each)
        if left is None:
            return "a message begins without a header"
    left = None if left is None else left - len(each.unit.fragment)  # type: ignore[union-attr]
    if said.partial:
        state.begun[place] = (whose, left)
        return None
    return not left or f"{left} octets are missing"


def announced(each: Passage) -> int | None:
    """Give how many octets the first fragment of a message announces, its header included."""
    begun = read_head(each.unit.fragment)  # type: ignore[union-attr]
    return None if begun is None else int(begun[0].body_size) + begun[1]


def consumer(server: Server) -> tuple[FastHandle, bytes]:
    """Give a consumer that has received and acknowledged a message, and the name of its queue."""
    handle = server.handle()
    name = dynamic_name(handle)
    handle.publish(name, b"first")
    handle.messages(1)
    handle.channel.ack()
    return handle, name


@scenario("fast/2.2.8.4.flow-pauses")
@broken_by("confirms and goes on", hears(Handle.Flow, flow_pause=False))
@broken_by("does not confirm", ignores(Handle.Flow))
def flow_pauses_messages(server: Server) -> None:
    """Behind HANDLE FLOW that pauses no message comes."""
    handle, name = consumer(server)
    handle.confirms(Handle.Flow(handle.id, 0, True))
    server.handle(new_connection=True).publish(name, b"two", b"three")
    handle.connection.lives()
    handle.stays_quiet()


@scenario("fast/2.2.8.4.flow-restarts")
@broken_by("stays paused", hears(Handle.Flow, flow_pause=True))
@broken_by("forgets what came meanwhile", Fault.changes("handle flow: is obeyed", lambda turn: forgets(turn)))
def flow_restarts_messages(server: Server) -> None:
    """Behind HANDLE FLOW that goes on the messages of the pause come, and later ones."""
    handle, name = consumer(server)
    handle.pause()
    sender = server.handle(new_connection=True)
    sender.publish(name, b"two", b"three")
    handle.confirms(Handle.Flow(handle.id, 0, False))
    sender.publish(name, b"four")
    handle.hears(b"two", b"three", b"four")


def forgets(turn: AnyTurn) -> None:
    """Pauses, and loses what waits when it goes on."""
    turn.handle.paused = turn.event.flow_pause
    for each in turn.handle.consumers:
        each.queue.messages.clear()


@scenario("fast/2.2.8.4.close-stops-messages")
@broken_by("goes on", Fault.changes("handle close: is answered", lambda _: None))
@broken_by("does not answer", ignores(Handle.Close))
def close_stops_messages(server: Server) -> None:
    """Behind the close of its handle no message comes to a consumer; they wait in the queue."""
    queue = server.queue()
    handle = server.handle(new_connection=True).consume(queue)
    sender = server.handle()
    sender.publish(queue, b"first")
    handle.messages(1)
    handle.channel.ack()
    handle.tries(Handle.Close(handle.id, OK), Handle.Close)
    sender.publish(queue, b"two", b"three")
    handle.stays_quiet()
    server.judge("two messages wait", "another number", len(indexed(sender, queue)) == 2)
