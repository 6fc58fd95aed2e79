"""What a server fills the fields of Deliver, Get-Ok and Return with, beside the content."""

from collections.abc import Iterator

from harness.amqp0_9_1.broken.deviations import rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received, answered, channel_closed, connection_closed, message
from harness.amqp0_9_1.wire.vocabulary import (
    GRAMMAR,
    NO_CONSUMERS,
    NOT_ALLOWED,
    NOT_IMPLEMENTED,
    REPLY_SUCCESS,
    Basic,
    Queue,
)
from harness.play.expect import ControlFailed
from scenarios.amqp0_9_1.grammar.calls import BODY, KEY, kind
from scenarios.amqp0_9_1.grammar.fields import name
from scenarios.amqp0_9_1.grammar.sent import carrying, fills, one_more
from scenarios.amqp0_9_1.grammar.sent_queue import filled
from scenarios.registry import broken_by, scenario, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject

BODIES = (b"first", b"second", b"third")


def taken(channel: AmqpChannel, about: Subject, queue: str, count: int = 1) -> list[Received]:
    """Take so many messages of the queue, to be acknowledged, by the method that the rule is about."""
    if kind(about) is Basic.Deliver:
        channel.consume(queue)
        return channel.deliveries(count)
    got = [channel.get(queue, no_ack=False) for _ in range(count)]
    if None in got:
        raise ControlFailed("basic.get", "basic.get-empty")
    return [each for each in got if each]


# -- which delivery ------------------------------------------------------------------------------------


@scenarios_for(carrying("delivery-tag"))
@broken_by("uses zero", fills(0))
@broken_by("gives the same tag to all", fills(1))
@broken_by("gives the tag of the next", fills(one_more))
def delivery_tag_names_one_delivery(broker: Broker, about: Subject) -> None:
    """Three messages come with three tags; Ack with that of the second settles it and no other."""
    channel, queue = broker.queue(*BODIES)
    tags = [each.method.delivery_tag for each in taken(channel, about, queue, len(BODIES))]
    different = len({*tags, 0}) == len(BODIES) + 1
    broker.judge("a tag for each delivery, none of them zero", "zero, or a tag twice", different)
    channel.send(Basic.Ack(tags[1]))
    channel.stays_quiet()
    channel.close()
    other = broker.channel().consuming(queue, no_ack=True)
    left = {each.body for each in other.deliveries(len(BODIES) - 1)}
    broker.judge("the first and the third again", "the second again", left == {BODIES[0], BODIES[2]})


@scenarios_for(carrying("redelivered"))
@broken_by("never sets it", fills(False))
@broken_by("always sets it", fills(True))
def message_says_whether_it_has_been_delivered(broker: Broker, about: Subject) -> None:
    """A message comes with redelivered=0; left unacknowledged by its channel it comes with 1, to another."""
    channel, queue = broker.queue(BODY)
    for again in (False, True):
        (seen,) = taken(channel, about, queue)
        flag = bool(seen.method.redelivered)
        broker.judge(f"redelivered={again:d}", f"redelivered={flag:d}", flag == again)
        channel.close()
        channel = broker.channel()
        channel.settle()


# -- where it was published ----------------------------------------------------------------------------

KINDS = ("direct", "fanout", "topic", "headers")
MATCHED = {"kind": "note"}


def routed(channel: AmqpChannel, queue: str) -> Iterator[tuple[str, str]]:
    """Give exchange and routing key of messages that reach the queue; no two have either in common."""
    yield "", queue
    for number, each in enumerate(KINDS):
        exchange, key = channel.declare_exchange(each), f"{KEY}.{number}"
        matched = {"x-match": "all", **MATCHED} if each == "headers" else {}
        channel.ask(Queue.Bind(queue, exchange, key, arguments=matched))
        yield exchange, key


PLACES = tuple(
    f"{method}.{field}"
    for method in ("basic.deliver", "basic.get-ok")
    for field in ("exchange", "routing-key")
)


@scenarios_for(carrying(*PLACES))
@broken_by("leaves it empty", fills(""))
@broken_by("says another", fills("amq.direct"))
@broken_by("adds to it", fills(lambda said: f"{said}."))
def message_says_where_it_was_published(broker: Broker, about: Subject) -> None:
    """Messages reach a queue through the default exchange and one of each type: each says by which way."""
    channel, queue = broker.queue()
    for exchange, key in routed(channel, queue):
        channel.publish(BODY, exchange=exchange, key=key, headers=MATCHED)
        (seen,) = taken(channel, about, queue)
        judges_place(broker, about, seen, exchange, key)
        channel.send(Basic.Ack(seen.method.delivery_tag))
        if kind(about) is Basic.Deliver:
            channel.ask(Basic.Cancel(seen.method.consumer_tag))


def judges_place(broker: Broker, about: Subject, seen: Received, exchange: str, key: str) -> None:
    """Judge the exchange, or the routing key, that a message says it was published with."""
    due = {"exchange": exchange, "routing_key": key}[name(about)]
    place = "the default exchange" if not exchange else "an exchange of a type"
    said = getattr(seen.method, name(about))
    broker.judge(f"{name(about)} as published to {place}", "another one", said == due)


@scenarios_for(carrying("basic.return.exchange", "basic.return.routing-key"))
@broken_by("leaves it empty", fills(""))
@broken_by("says another", fills("amq.direct"))
@broken_by("adds to it", fills(lambda said: f"{said}."))
def returned_message_says_where_it_was_published(broker: Broker, about: Subject) -> None:
    """Mandatory messages that reach no queue come back, and say where they were published to."""
    channel = broker.channel()
    exchanges = ("", *(channel.declare_exchange(each) for each in KINDS))
    for number, exchange in enumerate(exchanges):
        key = broker.name("queue", f"{{}}.{number}")
        channel.publish(BODY, exchange=exchange, key=key, mandatory=True)
        seen = channel.observe(Basic.Return)
        assert isinstance(seen, Received)
        judges_place(broker, about, seen, exchange, key)


# -- how many are left, and why it came back -----------------------------------------------------------


@scenario("0-9-1/grammar/basic.get-ok.message-count.carries")
@broken_by("counts the message itself", rewrites(Basic.GetOk, message_count=one_more))
@broken_by("counts none", rewrites(Basic.GetOk, message_count=0))
def messages_left_are_counted(broker: Broker) -> None:
    """Of three messages one is got: two are left; of those one, to be acknowledged: one; the last: none."""
    channel = broker.channel()
    queue = filled(channel)
    for no_ack, left in ((True, 2), (False, 1), (True, 0)):
        channel.tries(Basic.Get(queue, no_ack), message(Basic.GetOk, message_count=left))


HARD = {each.value for each in GRAMMAR.constants if each.error_class == "hard-error"}
SOFT = {each.value for each in GRAMMAR.constants if each.error_class == "soft-error"}


@scenario("0-9-1/grammar/basic.return.reply-code.carries")
@broken_by("reports success", rewrites(Basic.Return, reply_code=REPLY_SUCCESS))
@broken_by("gives no code", rewrites(Basic.Return, reply_code=0))
@broken_by("gives the code of what ends a connection", rewrites(Basic.Return, reply_code=NOT_ALLOWED))
def code_of_an_unroutable_message_is_no_other(broker: Broker) -> None:
    """A mandatory message for no queue comes back with a code; what is no success and ends no connection."""
    channel = broker.channel()
    channel.publish(BODY, exchange="amq.direct", key=broker.name("queue"), mandatory=True)
    code = channel.expect(Basic.Return).reply_code
    broker.note(f"the code is {code}, {'that of a soft error' if code in SOFT else 'no constant'}")
    useful = code not in HARD and code not in (0, REPLY_SUCCESS)
    broker.judge("a code that says why", f"{code}", useful)


@scenario("0-9-1/grammar/basic.return.reply-code.carries")
@broken_by("gives another code", rewrites(Basic.Return, reply_code=one_more))
def code_of_a_message_for_nobody_says_so(broker: Broker) -> None:
    """An immediate message for a queue without consumers comes back with the code for that, 313."""
    channel = broker.channel(new_connection=True)
    channel.publish(BODY, key=channel.declare_queue(), immediate=True)
    refused = channel_closed(NOT_IMPLEMENTED) | connection_closed(NOT_IMPLEMENTED)
    seen = channel.expect(answered(Basic.Return) | refused)
    if not isinstance(seen, Basic.Return):
        broker.inapplicable("the server does not implement immediate")
    broker.judge(f"{NO_CONSUMERS}", f"{seen.reply_code}", seen.reply_code == NO_CONSUMERS)
