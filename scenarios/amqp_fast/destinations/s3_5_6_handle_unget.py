"""3.5.6 HANDLE UNGET Command."""

from harness.amqp_fast.broken.deviations import Fault
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import is_error, replied, that
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.traffic import give_back, settle
from harness.amqp_fast.wire.vocabulary import Channel, Handle
from harness.play.expect import Outcome
from scenarios.amqp_fast.destinations.common import REFUSED
from scenarios.amqp_fast.destinations.s3_5_3_handle_send import accepts, ignores_all
from scenarios.amqp_fast.destinations.s3_5_4_topics import subscriber, tells
from scenarios.registry import broken_by, scenario

OF_NONE, OF_TOPIC = "handle unget: of no message is refused", "handle unget: of a topic is refused"
DONE = "handle unget: is done"
TOLD = "a confirmation was asked for, and tells the error"


def refusals(tag: int) -> tuple[Outcome, ...]:
    """Allow a close, preferred, and as good a reply that tells an error."""
    reply = that(
        replied(Handle.Reply, tag, *range(300, 600)),
        "an error",
        lambda seen: is_error(seen.command.reply_code),
    )
    return (*REFUSED, reply.recorded(TOLD))


def delivered(handle: FastHandle, count: int) -> list[int]:
    """Take so many messages and give their numbers. Raises ControlFailed."""
    return [each.command.message_nbr for each in handle.messages(count)]


def acknowledges(handle: FastHandle, number: int) -> None:
    """Judge that CHANNEL ACK is confirmed; by whose reply, the text says in two ways. Raises Unmet."""
    tag = handle.connection.tag()
    reply = replied(Channel.Reply, tag) | replied(Handle.Reply, tag)
    handle.tries(Channel.Ack(handle.channel.id, tag, number), reply)


def left(server: Server, queue: str, *bodies: bytes) -> None:
    """Judge that just these messages are in a queue, and take them."""
    reader = server.handle(new_connection=True)
    server.judge(f"{len(bodies)} messages in the queue", "others", len(reader.listed(queue)) == len(bodies))
    reader.consume(queue, no_ack=True).hears(*bodies)


def _all(turn: AnyTurn) -> None:
    """Give back all that was delivered on the channel."""
    give_back(turn.channel.unacknowledged)
    turn.channel.unacknowledged.clear()


def _none(turn: AnyTurn) -> None:
    """Take it as processed."""
    settle(turn.peer, turn.channel, turn.channel.unacknowledged[:1])


@scenario("fast/3.5.6.for-queues-only")
@scenario("fast/3.5.1.unget-for-queues-only")
@broken_by("takes it", accepts(OF_TOPIC))
@broken_by("says nothing", ignores_all(OF_TOPIC))
def only_queues_take_messages_back(server: Server) -> None:
    """A message of a queue is taken back, one of a topic is not."""
    topic, handle = server.topic(), server.handle().consume(server.queue(b"kept"), prefetch=1)
    handle.ask(Handle.Unget(handle.id, 0, delivered(handle, 1)[0]))
    reader = subscriber(server, topic, new_connection=True)
    tells(server.handle(), topic, b"told")
    tag = reader.connection.tag()
    reader.tries(Handle.Unget(reader.id, tag, delivered(reader, 1)[0]), *refusals(tag))


@scenario("fast/3.5.6.goes-back")
@broken_by("loses it", Fault.changes(DONE, _none))
@broken_by("keeps it", Fault.changes(DONE, effects=()))
def message_goes_back(server: Server) -> None:
    """A message that is given back is in the queue again, and goes to the next consumer."""
    queue = server.queue(b"back")
    handle = server.handle().consume(queue)
    number = delivered(handle, 1)[0]
    handle.pause()
    handle.ask(Handle.Unget(handle.id, 0, number))
    left(server, queue, b"back")


@scenario("fast/3.5.6.names-the-message")
@broken_by("takes it", accepts(OF_NONE))
@broken_by("says nothing", ignores_all(OF_NONE))
def unget_names_a_message(server: Server) -> None:
    """A delivered message is taken back; of a number that was never delivered nothing is."""
    handle = server.handle().consume(server.queue(b"kept"), prefetch=1)
    handle.ask(Handle.Unget(handle.id, 0, delivered(handle, 1)[0]))
    other = server.handle()
    tag = other.connection.tag()
    other.tries(Handle.Unget(other.id, tag, 4711), *refusals(tag))


@scenario("fast/3.5.6.to-another-client")
@broken_by("loses it", Fault.changes(DONE, _none))
@broken_by("keeps it", Fault.changes(DONE, effects=()))
def message_goes_to_another_client(server: Server) -> None:
    """What one of two clients gives back comes to the other one; or to the same again."""
    queue = server.queue()
    first = server.handle(new_connection=True).consume(queue, prefetch=1)
    server.handle().publish(queue, b"passed on")
    number = delivered(first, 1)[0]
    other = server.handle(new_connection=True).consume(queue, prefetch=1)
    first.ask(Handle.Unget(first.id, 0, number))
    again = first.arrived()
    server.judge("to the other client", "to the same", not again, "the same client is as free as the other")
    if not again:
        other.hears(b"passed on")


@scenario("fast/3.5.6.other-messages-stay")
@broken_by("gives back all", Fault.changes(DONE, _all))
@broken_by("gives back none", Fault.changes(DONE, effects=()))
def other_messages_stay(server: Server) -> None:
    """Of three messages the one that was given back is in the queue when all are acknowledged."""
    queue = server.queue(b"1", b"2", b"3")
    handle = server.handle().consume(queue, prefetch=3)
    second = delivered(handle, 3)[1]
    handle.pause()
    handle.ask(Handle.Unget(handle.id, 0, second))
    handle.channel.ack()
    left(server, queue, b"2")


@scenario("fast/3.5.6.before-the-ack")
@broken_by("takes it", accepts(OF_NONE))
@broken_by("says nothing", ignores_all(OF_NONE))
def acknowledged_message_is_not_given_back(server: Server) -> None:
    """A message is given back before its ACK, and refused behind it."""
    handle = server.handle().consume(server.queue(b"1", b"2"), prefetch=2)
    first, second = delivered(handle, 2)
    handle.pause()
    handle.ask(Handle.Unget(handle.id, 0, second))
    handle.channel.ack(first)
    tag = handle.connection.tag()
    handle.tries(Handle.Unget(handle.id, tag, first), *refusals(tag))


@scenario("fast/3.5.6.unget-then-ack")
@scenario("fast/3.5.6.acks-around-unget")
@broken_by("acknowledges it too", Fault.changes(DONE, effects=()))
@broken_by("confirms nothing", Fault.changes("channel ack: is taken", answer=None))
def acks_cover_all_but_what_was_given_back(server: Server) -> None:
    """With 'unget 3', 'ack 4' and with 'ack 1', 'ack 2', 'unget 3', 'ack 4' the third one alone is left."""
    for early in (False, True):
        queue = server.queue(b"1", b"2", b"3", b"4")
        handle = server.handle().consume(queue, prefetch=4)
        numbers = delivered(handle, 4)
        handle.pause()
        for number in numbers[:2] if early else ():
            acknowledges(handle, number)
        handle.confirms(Handle.Unget(handle.id, 0, numbers[2]))
        acknowledges(handle, numbers[3])
        left(server, queue, b"3")
