"""2.2.5 Channels and Fragmentation, 2.2.6 Service Families."""

from collections.abc import Sequence
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    hears,
    hears_fragment,
    ignores,
    repeats,
    takes,
    together,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import closed, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.entities import Consumer
from harness.amqp_fast.peer.events import HandleState
from harness.amqp_fast.peer.refusals import FORBIDDEN, refuses
from harness.amqp_fast.peer.tables.sending import forget, send
from harness.amqp_fast.peer.turn import Row
from harness.amqp_fast.wire.vocabulary import OK, QUEUE, TOPIC, Channel, Connection, Handle
from scenarios.amqp_fast.talk import are_confirmed, comes_home, dynamic_name, sends
from scenarios.registry import broken_by, scenario

ALL = "3.3.10: the general response to an error in a channel command is to close the connection"
FRAGMENT = 64
"""Octets of a fragment of a small message."""


# -- channels ------------------------------------------------------------------------------------------


@scenario("fast/2.2.5.pipelined-commands")
@broken_by("hears the first of each write alone", ignores(Channel.Open))
@broken_by("loses what comes behind HANDLE CONSUME", ignores(Handle.Send))
def pipelined_commands_are_taken(server: Server) -> None:
    """From CONNECTION OPEN to HANDLE SEND, five commands in one write are confirmed one after the other."""
    connection = server.tuned()
    channel = connection.unopened()
    handle, name = channel.unopened(), server.name("queue")
    opening = connection.opening()
    tags = [connection.tag() for _ in range(4)]
    connection.send(
        opening,
        Channel.Open(channel.id, tags[0]),
        handle.opening(confirm_tag=tags[1]),
        handle.consuming(name, dynamic=True, confirm_tag=tags[2]),
        *handle.carries(name, b"at once", tag=tags[3]),
    )
    connection.expect(replied(Connection.Reply, opening.confirm_tag))
    connection.is_open()
    channel.expect(replied(Channel.Reply, tags[0]))
    handle.expect(replied(Handle.Reply, tags[1]))
    are_confirmed(handle, tags[2:], b"at once")


def sends_late(turn: AnyTurn) -> None:
    """Keeps what is sent in the transaction, whatever becomes of it."""


@scenario("fast/2.2.5.channel-serial")
@broken_by("does not roll back", Fault.changes("channel rollback: is done", sends_late))
@broken_by("commits once, for all", ignores(Channel.Commit, skip=1))
def channel_does_one_thing_after_the_other(server: Server) -> None:
    """Sent in one write: A, commit, B, roll back, C, commit. All are confirmed, the queue has A and C."""
    queue, reader = server.queue(), server.handle()
    handle = server.channel(transacted=True).handle()
    channel = handle.channel
    tags = [handle.connection.tag() for _ in range(6)]
    said: list[Any] = []
    for place, (body, end) in enumerate(
        ((b"A", Channel.Commit), (b"B", Channel.Rollback), (b"C", Channel.Commit))
    ):
        said += [*handle.carries(queue, body, tag=tags[2 * place]), end(channel.id, tags[2 * place + 1])]
    handle.send(*said)
    for place, tag in enumerate(tags):
        handle.expect(replied(Channel.Reply if place % 2 else Handle.Reply, tag))
    reader.consume(queue).hears(b"A", b"C")
    reader.stays_quiet()


@scenario("fast/2.2.5.errors-stay-in-channel")
@broken_by(
    "closes the next one, too",
    takes(Channel.Open, Channel.Close(2, 503), when=lambda it: it.channel_id == 1, skip=1),
)
@broken_by("says nothing", Fault.drops("channel open: again is refused"))
def error_on_one_channel_leaves_the_other(server: Server) -> None:
    """CHANNEL OPEN of an open channel closes it; the other channel serves before our answer and behind it."""
    connection = server.connection()
    first, second = connection.channel(1), connection.channel(2).handle()
    name = dynamic_name(second)
    first.send(Channel.Open(1, connection.tag()))
    whole = closed(Connection.Close).recorded(ALL)
    if isinstance(first.expect(closed(Channel.Close), whole, acknowledge=False), Connection.Close):
        return
    for body in (b"before", b"behind"):
        comes_home(second, name, body)
        if body == b"before":
            first.send(Channel.Close(1, OK))


def others_wait(turn: AnyTurn) -> bool:
    """A message is not whole yet on another channel."""
    channels = turn.connection.channels.values()
    return any(each.assembly is not None and each is not turn.channel for each in channels)


BLOCKED: Row[Handle.Open] = Row(
    "handle open: waits for another channel",
    HandleState.CLOSED,
    Handle.Open,
    others_wait,
    (refuses(FORBIDDEN, "a message is not whole"),),
)


@scenario("fast/2.2.5.unfinished-message-blocks-nobody")
@broken_by("refuses what comes meanwhile", Fault.inserts("handle open: is accepted", BLOCKED))
@broken_by(
    "mixes up the channels",
    hears_fragment(Handle.Send, lambda octets: octets + b"mixed", when=lambda send: send.partial, skip=1),
)
def unfinished_message_keeps_nobody(server: Server) -> None:
    """Amid a message on one channel one on another is sent and delivered; then the first one is whole."""
    connection = server.connection()
    slow, name, body = connection.channel().handle(), server.name("queue"), b"large" * 40
    slow.ask(slow.consuming(name, dynamic=True))
    tag = connection.tag()
    *parts, last = slow.carries(name, body, tag=tag, most=FRAGMENT)
    slow.send(*parts)
    other = connection.channel().unopened()
    other.confirms(other.opening())
    comes_home(other, other.tries(other.consuming("", dynamic=True), Handle.Created).dest_name, b"small")
    slow.send(last)
    are_confirmed(slow, [tag], body)


# -- queues and topics ---------------------------------------------------------------------------------


def nobody(_: Sequence[Consumer]) -> Sequence[Consumer]:
    """Serves no consumer while there are several."""
    return _ if len(_) < 2 else ()


def readers(server: Server, name: str | bytes, **how: Any) -> list[FastHandle]:
    """Give two consumers of a destination, on connections of their own."""
    return [server.handle(new_connection=True).consume(name, **how) for _ in range(2)]


def takes_all(handles: Sequence[FastHandle], count: int) -> list[list[bytes | None]]:
    """Judge that so many messages come on these handles together; give the bodies that came on each."""
    bodies: list[list[bytes | None]] = [[] for _ in handles]
    for handle in handles:
        handle.fence()
    for mine, handle in zip(bodies, handles, strict=True):
        mine += [each.body for each in handle.arrived()]
    came = sum(map(len, bodies))
    handles[0].connection.link.judged(f"{count} messages", f"{came} messages", came == count)
    return bodies


@scenario("fast/2.2.6.queue-gives-to-its-readers")
@broken_by("serves nobody where there are two", Fault.swaps(next_consumer=nobody))
@broken_by("loses every message but one", withholds(Handle.Notify, skip=1))
def queue_gives_all_to_its_readers(server: Server) -> None:
    """Two readers receive ten messages together, each in the order sent."""
    queue, sent = server.queue(), [b"%d" % place for place in range(10)]
    both = readers(server, queue)
    server.handle().publish(queue, *sent)
    for bodies in takes_all(both, len(sent)):
        server.judge("in the order sent", "in another order", bodies == sorted(bodies))  # type: ignore[type-var]


@scenario("fast/2.2.6.queue-one-reader-each")
@broken_by("keeps each message twice", Fault.changes("handle send: is done", send, send, forget))
@broken_by("gives it twice", repeats(Handle.Notify))
def each_message_of_a_queue_has_one_reader(server: Server) -> None:
    """Of eleven messages none comes twice, to whichever of two readers, though ten are acknowledged."""
    queue, sent = server.queue(), [b"%d" % place for place in range(10)]
    both = readers(server, queue)
    sender = server.handle()
    sender.publish(queue, *sent)
    first = takes_all(both, len(sent))
    for each in both:
        each.channel.ack()
    sender.publish(queue, b"last")
    second = takes_all(both, 1)
    bodies = [body for each in (*first, *second) for body in each]
    server.judge("each message once", "some twice", len(bodies) == len({*bodies}))


@scenario("fast/2.2.6.topic-gives-to-all")
@broken_by("gives to one of them", hears(Handle.Consume, service_type=QUEUE, dynamic=True))
@broken_by("comes twice", repeats(Handle.Notify))
def topic_gives_to_all_who_asked(server: Server) -> None:
    """A message to a topic comes once to each of three subscribers, on two connections."""
    topic = server.topic()
    both = readers(server, topic, service_type=TOPIC)
    third = both[1].connection.channel().handle().consume(topic, service_type=TOPIC)
    sends(server.handle(), topic, b"to all", service=TOPIC)
    for each in (*both, third):
        each.hears(b"to all")
        each.stays_quiet()


def is_of_a_topic(command: Any) -> bool:
    return bool(command.service_type == TOPIC)


@scenario("fast/2.2.6.topic-by-interest")
@broken_by(
    "takes all topics for one",
    together(
        hears(Handle.Consume, dest_name=b"topic", when=is_of_a_topic),
        hears(Handle.Send, dest_name=b"topic", when=is_of_a_topic),
    ),
)
@broken_by("gives a topic's messages to who asks first", hears(Handle.Send, service_type=QUEUE))
def topic_gives_by_interest(server: Server) -> None:
    """Who asked for one topic gets nothing of another; who asked later gets nothing of before."""
    topics = [server.topic(), server.topic()]
    first, second = (server.handle().consume(each, service_type=TOPIC) for each in topics)
    sender = server.handle()
    for topic, body in zip(topics, (b"one", b"two"), strict=True):
        sends(sender, topic, body, service=TOPIC)
    third = server.handle().consume(topics[0], service_type=TOPIC)
    sends(sender, topics[0], b"three", service=TOPIC)
    first.hears(b"one", b"three")
    second.hears(b"two")
    third.hears(b"three")
    for each in (first, second, third):
        each.stays_quiet()
