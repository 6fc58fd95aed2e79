"""3.5.5 HANDLE FLOW Command."""

from harness.amqp_fast.broken.deviations import Fault, hears, withholds
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import message
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import Handle
from scenarios.amqp_fast.destinations.s3_5_4_topics import subscriber, tells
from scenarios.registry import broken_by, scenario

FLOW = "handle flow: is obeyed"
DEAF = Fault.changes(FLOW, effects=())
"""Confirms HANDLE FLOW and goes on as before."""


def _all_handles(turn: AnyTurn) -> None:
    for each in turn.connection.handles.values():
        each.paused = turn.event.flow_pause or each.id == 1


def _throws_away(turn: AnyTurn) -> None:
    turn.handle.paused = turn.event.flow_pause
    for consumer in turn.handle.consumers:
        consumer.queue.messages.clear()


def _first_only(turn: AnyTurn) -> None:
    """Pause by taking the first consumer's place in its queue."""
    first = turn.handle.consumers[0]
    (first.queue.consumers.remove if turn.event.flow_pause else first.queue.consumers.append)(first)


def _hoards(turn: AnyTurn) -> None:
    """Keep the messages of a queue for who has paused."""
    turn.handle.paused = turn.event.flow_pause
    for consumer in turn.handle.consumers:
        for other in consumer.queue.consumers:
            other.handle.paused = turn.event.flow_pause


@scenario("fast/3.5.5.pause-stops", needs=("address",))
@broken_by("goes on", DEAF)
def pause_stops_messages(server: Server) -> None:
    """When a pause is confirmed a message that is sent to the queue does not come."""
    queue, handle = server.address(), server.handle()
    handle.consume(queue)
    handle.confirms(Handle.Flow(handle.id, 0, True))
    server.handle().publish(queue, b"kept back")
    handle.channel.stays_quiet()


@scenario("fast/3.5.5.restart-goes-on")
@broken_by("stays paused", hears(Handle.Flow, flow_pause=True))
@broken_by("loses what came meanwhile", Fault.changes(FLOW, _throws_away))
def restart_goes_on(server: Server) -> None:
    """Three messages that came while it was paused come in order when it is restarted."""
    queue, handle = server.queue(), server.handle()
    handle.consume(queue).pause()
    server.handle().publish(queue, b"1", b"2", b"3")
    handle.send(Handle.Flow(handle.id, 0, False))
    handle.hears(b"1", b"2", b"3")


@scenario("fast/3.5.5.handles-start-on")
@broken_by("waits to be started", withholds(Handle.Notify))
def handle_needs_no_start(server: Server) -> None:
    """A message in the queue comes without any HANDLE FLOW."""
    server.handle().consume(server.queue(b"there")).hears(b"there")


@scenario("fast/3.5.5.of-all-destinations")
@broken_by("pauses the first", Fault.changes(FLOW, _first_only))
@broken_by("goes on", DEAF)
def flow_is_of_all_destinations(server: Server) -> None:
    """A handle that consumes from two queues is paused for both, and goes on with both."""
    one, other, handle = server.queue(), server.queue(), server.handle()
    handle.consume(one).consume(other)
    handle.pause()
    server.handle().publish(one, b"m")
    server.handle().publish(other, b"m")
    handle.channel.stays_quiet()
    handle.send(Handle.Flow(handle.id, 0, False))
    handle.hears(b"m", b"m")


@scenario("fast/3.5.5.of-its-handle-only")
@broken_by("pauses all", Fault.changes(FLOW, _all_handles))
def flow_is_of_its_handle_only(server: Server) -> None:
    """Of two handles of one channel one is paused: the message of the other one comes."""
    one, other, channel = server.queue(), server.queue(), server.channel()
    paused, handle = channel.handle().consume(one), channel.handle().consume(other)
    paused.pause()
    server.handle().publish(one, b"kept back")
    server.handle().publish(other, b"comes")
    handle.hears(b"comes")
    channel.stays_quiet()


@scenario("fast/3.5.5.topic-paused")
@broken_by("goes on", DEAF)
def topic_is_paused(server: Server) -> None:
    """A topic that is paused sends nothing; restarted it sends what came meanwhile, or what comes then."""
    topic, sender = server.topic(), server.handle()
    handle = subscriber(server, topic)
    handle.pause()
    tells(sender, topic, b"1", b"2")
    handle.channel.stays_quiet()
    handle.pause(False)
    tells(sender, topic, b"3")
    lost = message(b"3").recorded("what is sent while it is paused need not be kept")
    if handle.observe(message(b"1"), lost).body == b"1":
        handle.hears(b"2", b"3")


@scenario("fast/3.5.5.queue-goes-to-others")
@broken_by("keeps them", Fault.changes(FLOW, _hoards))
@broken_by("goes on", DEAF)
def queue_goes_to_others(server: Server) -> None:
    """While one consumer of a queue is paused the other one gets all four messages."""
    queue = server.queue()
    paused, other = server.handle().consume(queue), server.handle().consume(queue)
    paused.pause()
    server.handle().publish(queue, b"1", b"2", b"3", b"4")
    other.hears(b"1", b"2", b"3", b"4")
