"""3.5.3.1 AMQP Service Types."""

from harness.amqp_fast.broken.deviations import hears, ignores
from harness.amqp_fast.client.outcomes import replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import ANY, QUEUE, TOPIC, Handle
from harness.peers.interposer import Condition
from scenarios.registry import broken_by, scenario


def of(service: int) -> Condition:
    """Find HANDLE SEND with this service type."""
    return lambda it: it.service_type == service


def _goes(server: Server, service: int, to_queue: bool) -> None:
    """Judge where a message goes whose destination is both a queue and a topic."""
    both, handle = server.queue(), server.handle()
    subscriber = server.handle().consume(both, service_type=TOPIC)
    tag = handle.connection.tag()
    handle.send(*handle.carries(both, b"one", service=service, tag=tag))
    handle.expect(replied(Handle.Reply, tag))
    if to_queue:
        server.judge("the message in the queue", "none", len(handle.listed(both)) == 1)
        subscriber.channel.stays_quiet()
    else:
        subscriber.hears(b"one")
        server.judge("nothing in the queue", "the message", handle.listed(both) == [])


@scenario("fast/3.5.3.1.queue-service")
@broken_by("sends it to the topic", hears(Handle.Send, of(QUEUE), service_type=TOPIC))
def service_1_is_the_queue(server: Server) -> None:
    """With service type 1 the queue has the message, and no subscriber of a topic of that name."""
    _goes(server, QUEUE, to_queue=True)


@scenario("fast/3.5.3.1.topic-service")
@broken_by("sends it to the queue", hears(Handle.Send, of(TOPIC), service_type=QUEUE))
def service_2_is_the_topic(server: Server) -> None:
    """With service type 2 the subscriber gets the message, and a queue of that name has nothing."""
    _goes(server, TOPIC, to_queue=False)


@scenario("fast/3.5.3.1.topic-without-subscribers")
@broken_by("says nothing", ignores(Handle.Send))
@broken_by("wants a queue", hears(Handle.Send, service_type=QUEUE))
def topic_needs_no_subscribers(server: Server) -> None:
    """A message to a topic that nobody subscribes to is confirmed."""
    handle = server.handle()
    handle.send(*handle.carries(server.topic(), b"for nobody", service=TOPIC, tag=7))
    handle.expect(replied(Handle.Reply, 7))


@scenario("fast/3.5.3.1.any-prefers-the-queue")
@broken_by("prefers the topic", hears(Handle.Send, of(ANY), service_type=TOPIC))
def any_is_the_queue_if_there_is_one(server: Server) -> None:
    """With service type 3 the queue has the message, if there is one of that name."""
    _goes(server, ANY, to_queue=True)


@scenario("fast/3.5.3.1.any-else-the-topic")
@broken_by("loses it", ignores(Handle.Send))
@broken_by("wants a queue", hears(Handle.Send, of(ANY), service_type=QUEUE))
def any_is_the_topic_otherwise(server: Server) -> None:
    """With service type 3 the subscriber gets the message, where no queue has the name."""
    topic = server.topic()
    subscriber, handle = server.handle().consume(topic, service_type=TOPIC), server.handle()
    handle.send(*handle.carries(topic, b"one", service=ANY))
    subscriber.hears(b"one")
