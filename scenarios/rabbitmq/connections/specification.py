"""specification: where RabbitMQ departs from 0-9-1 by its own account."""

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, ignores, swaps, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    Unreadable,
    answered,
    channel_closed,
    fields,
    message,
    refused,
    silence,
)
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.publishing.outside import change_the_end, give_no_ticket, say_nothing
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import METHOD, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Exchange,
    Queue,
)
from harness.play.expect import Outcome
from scenarios.amqp0_9_1.basic.reject import CUT_SHORT, LONG, small_frames
from scenarios.registry import broken_by, scenario

PAUSES = "channel.flow: refuses to pause"
OCTETS = "basic.qos: refuses a limit of octets"
RECOVERS = "basic.recover: refuses without requeue"
NO_EXCHANGE = "exchange.delete: confirms that there is none"
NO_QUEUE = "queue.delete: confirms that there is none"
NOT_BOUND = "queue.unbind: confirms that nothing is bound"
ACCESS = "access.request: is answered with a ticket"
MORE = "0-9-1 has it, and a server may do more than is said here"
BY_0_9_1 = "0-9-1 refuses what does not exist"
STANDARD = ("amq.direct", "amq.fanout", "amq.topic")
REQUEST = b"\x00\x1e\x00\x0a" + b"\x05/data" + b"\x1e"
REQUEST_OK = b"\x00\x1e\x00\x0b"


def is_refused(channel: AmqpChannel, method: Method, served: type[Method]) -> bool:
    """Judge that a method is refused as not implemented, or else served; say whether it is refused."""
    seen = channel.tries(method, *refused(NOT_IMPLEMENTED), answered(served).under(MORE))
    return not isinstance(seen, served)


@scenario("rabbitmq/specification.flow")
@broken_by("takes it and delivers", answers(Channel.Flow, Channel.FlowOk(False)))
@broken_by("does not answer", ignores(Channel.Flow))
def pause_is_refused(broker: Broker) -> None:
    """Flow that asks for a pause is refused, or kept to."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = channel.declare_queue()
    channel.consume(queue)
    if not is_refused(channel, Channel.Flow(False), Channel.FlowOk):
        other.publish("1", key=queue)
        other.depth(queue)
        channel.stays_quiet()


@scenario("rabbitmq/specification.prefetch-size")
@broken_by("takes it and delivers", answers(Basic.Qos, Basic.QosOk()))
@broken_by("does not answer", ignores(Basic.Qos))
def limit_of_octets_is_refused(broker: Broker) -> None:
    """A prefetch size of ten octets is refused, or kept to with messages of as many."""
    channel = broker.channel()
    queue = channel.queue_with(*("ten octets" for _ in range(3)))
    channel.depth(queue)
    if not is_refused(channel, Basic.Qos(prefetch_size=10), Basic.QosOk):
        channel.consume(queue)
        channel.deliveries(1)
        channel.stays_quiet()


@scenario("rabbitmq/specification.recover-without-requeue")
@broken_by("takes it and does nothing", answers(Basic.Recover, Basic.RecoverOk()))
@broken_by("does not answer", ignores(Basic.Recover))
def recover_without_requeue_is_refused(broker: Broker) -> None:
    """Recover without requeue is refused, or the message comes again to its recipient."""
    channel = broker.channel()
    queue = channel.queue_with("1")
    channel.consume(queue)
    channel.deliveries(1)
    if not is_refused(channel, Basic.Recover(requeue=False), Basic.RecoverOk):
        channel.expect(message(Basic.Deliver, b"1", redelivered=True))


@scenario("rabbitmq/specification.exchange-delete")
@broken_by("gives another code", changes(NO_EXCHANGE, answer=refuse(UNEXPECTED_FRAME)))
@broken_by("passes over what is missing", changes(NO_EXCHANGE, answer=None))
def exchange_that_is_missing_is_deleted(broker: Broker) -> None:
    """An exchange deleted twice, and one never declared, are answered by Delete-Ok."""
    channel = broker.channel()
    exchange = channel.declare_exchange()
    channel.ask(Exchange.Delete(exchange))
    for name in (exchange, broker.name("exchange")):
        missing(broker, Exchange.Delete(name), answered(Exchange.DeleteOk))


@scenario("rabbitmq/specification.queue-delete")
@broken_by("passes over what is missing", changes(NO_QUEUE, answer=None))
@broken_by("gives another code", changes(NO_QUEUE, answer=refuse(UNEXPECTED_FRAME)))
@broken_by("counts what is not there", answers(Queue.Delete, Queue.DeleteOk(1)))
def queue_that_is_missing_is_deleted(broker: Broker) -> None:
    """A queue deleted twice, and one never declared, are answered by Delete-Ok, of no messages."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.ask(Queue.Delete(queue))
    for name in (queue, broker.name("queue")):
        missing(broker, Queue.Delete(name), fields(Queue.DeleteOk, message_count=0))


@scenario("rabbitmq/specification.queue-unbind")
@broken_by("gives another code", changes(NOT_BOUND, answer=refuse(UNEXPECTED_FRAME)))
@broken_by("passes over what is not bound", changes(NOT_BOUND, answer=None))
def binding_that_is_missing_is_unbound(broker: Broker) -> None:
    """A binding undone twice, and one never made, are answered by Unbind-Ok."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.bind(queue, "amq.direct", "bound")
    channel.ask(Queue.Unbind(queue, "amq.direct", "bound"))
    for key in ("bound", "never bound"):
        missing(broker, Queue.Unbind(queue, "amq.direct", key), answered(Queue.UnbindOk))


def missing(broker: Broker, method: Method, confirmed: Outcome) -> None:
    """Judge, on a new connection, that a method about what is missing is confirmed, or refused with 404."""
    refusals = [each.under(BY_0_9_1) for each in refused(NOT_FOUND)]
    broker.channel(new_connection=True).tries(method, confirmed, *refusals)


@scenario("rabbitmq/specification.no-local", slow=True)
@broken_by("takes it and throws it away", withholds(Basic.Deliver))
@broken_by("keeps what is lost", ignores(Basic.Publish))
def own_messages_are_delivered(broker: Broker) -> None:
    """With no-local a consumer gets what its own connection publishes; or it stays in the queue."""
    channel = broker.channel()
    queue = channel.declare_queue()
    tag = channel.consume(queue, no_local=True)
    channel.publish("mine", key=queue)
    seen = channel.expect(message(Basic.Deliver, b"mine"), silence().under(MORE))
    if not isinstance(seen, Basic.Deliver):
        channel.tries(Basic.Cancel(tag), Basic.CancelOk)
        channel.gets(queue, b"mine")


@scenario("rabbitmq/specification.rejected-in-full")
@broken_by("sends another end", swaps(cut=change_the_end))
@broken_by("takes it for an intrusion", changes("basic.reject: discards", answer=refuse(UNEXPECTED_FRAME)))
def rejected_message_comes_in_full(broker: Broker) -> None:
    """A long message that is rejected when its Deliver has come comes whole; cut short is legal."""
    channel = small_frames(broker).channel()
    queue = channel.queue_with(LONG)
    channel.consume(queue)
    tag = channel.coming(Basic.Deliver).delivery_tag
    channel.send(Basic.Reject(tag, requeue=False), FENCE)
    channel.expect(message(Basic.Deliver, LONG), CUT_SHORT.under("0-9-1 lets a content be cut short"))
    channel.expect(Exchange.DeclareOk)


@scenario("rabbitmq/specification.access-request")
@broken_by("knows no such method", drops(ACCESS))
@broken_by("gives no ticket", changes(ACCESS, give_no_ticket))
@broken_by("does not answer", changes(ACCESS, say_nothing))
def access_is_granted(broker: Broker) -> None:
    """Access.Request is answered by Access.Request-Ok with a ticket, and the channel goes on."""
    channel = broker.channel()
    link = channel.connection.link
    link.send_frames([Frame(METHOD, channel.number, REQUEST)])
    channel.send(FENCE)
    channel.expect(Outcome("access.request-ok", lambda seen: isinstance(seen, Unreadable)))
    channel.expect(Exchange.DeclareOk)
    answers_ = [each.payload for each in link.received() if isinstance(each, Frame) and each.channel]
    came = [each for each in answers_ if each.startswith(REQUEST_OK)]
    broker.judge("a ticket", "no ticket", [len(each) for each in came] == [len(REQUEST_OK) + 2])


@scenario("rabbitmq/specification.amq-exchanges-kept")
@broken_by("deletes them", drops("exchange.delete: refuses a pre-declared one"))
@broken_by("answers as if they were gone", answers(Exchange.Delete, Exchange.DeleteOk()))
@broken_by("does not answer", ignores(Exchange.Delete))
def standard_exchanges_are_not_deleted(broker: Broker) -> None:
    """Each of the standard exchanges is refused to be deleted, and still there."""
    codes = (channel_closed(ACCESS_REFUSED), EXCEPTION.under("the guide names no code, nor a level"))
    for name in STANDARD:
        kind = name.removeprefix("amq.")
        broker.channel().ask(Exchange.Declare(name, kind, passive=True))
        broker.channel(new_connection=True).tries(Exchange.Delete(name), *codes)
        broker.channel().tries(Exchange.Declare(name, kind, passive=True), Exchange.DeclareOk)
