"""The history of dead letters in their headers: x-death, the first death and the last."""

from collections.abc import Mapping
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import changes, forwards
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received
from harness.amqp0_9_1.rabbitmq.broken.queues.dead_letters import (
    forgetting,
    leave_its_expiration,
    letters,
    rewrites_history,
    takes,
    tells,
    without,
)
from harness.amqp0_9_1.wire.field_tables import Timestamp
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from scenarios.rabbitmq.queues.dead_lettering import (
    REJECTED,
    SOON,
    UNKNOWN,
    declares,
    dies,
    grave,
    headers_of,
    letter,
    mortal,
    reject,
)
from scenarios.registry import broken_by, scenario

FORGETS = changes(REJECTED, forgetting(lambda _: ()))
A_SECOND = 1100
"""Milliseconds after which the time in seconds is another one."""


def deaths(broker: Broker, seen: Received) -> list[Mapping[str, Any]]:
    """Judge that a dead letter has a history, an array of tables, and give it."""
    found = headers_of(seen).get("x-death")
    holds = isinstance(found, list) and bool(found) and all(isinstance(each, Mapping) for each in found)
    broker.judge("x-death as an array of tables", "no such x-death", holds)
    return list(found or ())


def tell(broker: Broker, seen: Received, *expected: Mapping[str, Any]) -> None:
    """Judge that the history of a dead letter is this one, as far as these fields go."""
    found = deaths(broker, seen)
    broker.judge(f"{len(expected)} deaths", f"{len(found)} deaths", len(expected) == len(found))
    for wanted, told in zip(expected, found, strict=True):
        for name, value in wanted.items():
            same = told.get(name) == value and isinstance(told.get(name), bool) == isinstance(value, bool)
            broker.judge(f"{name} of the death", f"another {name}", same)


def buried(broker: Broker, body: str = "dead", **properties: Any) -> tuple[str, str, Received]:
    """Reject a message that came through a fanout exchange; give that, the queue and the letter."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue, source = mortal(channel, exchange), channel.declare_exchange("fanout")
    channel.bind(queue, source)
    channel.publish(body, exchange=source, **properties)
    reject(channel, queue)
    return source, queue, letter(reader, body)


def circle(broker: Broker, **further: Any) -> tuple[AmqpChannel, AmqpChannel, str, str]:
    """Give two channels that consume from queues with each other's dead letters, and the names of these.

    With `further` arguments for the second queue nobody consumes from it.
    """
    first, second = broker.channel(), broker.channel()
    one, two = first.new_name("queue"), first.new_name("queue")
    declares(first, one, dead_letter_exchange="", dead_letter_routing_key=two)
    declares(first, two, dead_letter_exchange="", dead_letter_routing_key=one, **further)
    return first.consuming(one), second if further else second.consuming(two), one, two


@scenario("rabbitmq/dlx.history")
@broken_by("tells nothing", delivers(headers=without("x-death")))
@broken_by("tells it as a table", rewrites_history(lambda found: found[0]))
@broken_by("tells an empty history", rewrites_history(lambda _: []))
@broken_by("knows no dead letters", UNKNOWN)
def dead_letter_has_a_history(broker: Broker) -> None:
    """The letters for a message with headers and for one without have x-death: an array of one table."""
    for headers in (None, {"x": "y"}):
        tell(broker, buried(broker, headers=headers)[2], {})


@scenario("rabbitmq/dlx.history.newest-first")
@broken_by("tells the oldest first", rewrites_history(lambda found: found[::-1]))
@broken_by(
    "leaves all but the latest as they were", rewrites_history(lambda found: [found[0], *found[:0:-1]])
)
@broken_by("tells the latest only", FORGETS)
def latest_death_comes_first(broker: Broker) -> None:
    """Of a message that died in three queues the tables name the third, the second, then the first."""
    channel, last = broker.channel(), broker.channel()
    names = [last.declare_queue()]
    consumers = [last.consuming(names[0])]
    for _ in range(3):
        names.insert(0, mortal(channel, "", dead_letter_routing_key=names[0]))
        consumers.insert(0, broker.channel().consuming(names[0]))
    channel.publish("dead", key=names[0])
    for consumer in consumers[:3]:
        dies(consumer)
    tell(broker, letter(last), *({"queue": name} for name in reversed(names[:3])))


@scenario("rabbitmq/dlx.history.compressed")
@broken_by("tells each death", rewrites_history(lambda found: [found[0], *found]))
@broken_by("leaves it where it was", rewrites_history(lambda found: found[::-1]))
@broken_by("begins to count again", tells(count=1))
@broken_by("tells the latest only", FORGETS)
def same_death_again_is_counted(broker: Broker) -> None:
    """A message that died in one queue, another one and the first has two tables, with the first in front."""
    first, second, one, two = circle(broker)
    first.publish("dead", key=one)
    for consumer in (first, second, first):
        dies(consumer)
    tell(broker, letter(second), {"queue": one, "count": 2}, {"queue": two, "count": 1})


@scenario("rabbitmq/dlx.history.by-reason")
@broken_by("knows no limit", forwards(Queue.Declare, arguments=without("x-max-length")))
@broken_by("counts it with the other", rewrites_history(lambda found: found[:2] if len(found) > 2 else found))
def another_reason_is_another_death(broker: Broker) -> None:
    """A message that is rejected in a queue and, come back, dropped there for length has a table for each."""
    channel, second = broker.channel(), broker.channel()
    one, two = channel.new_name("queue"), channel.new_name("queue")
    declares(channel, one, dead_letter_exchange="", dead_letter_routing_key=two, max_length=1)
    declares(channel, two, dead_letter_exchange="", dead_letter_routing_key=one)
    second.consume(two)
    channel.publish("dead", key=one)
    reject(channel, one)
    dies(second)
    came_back = broker.channel().consuming(one)
    letter(came_back, "dead")
    came_back.close()
    channel.publish("next", key=one)
    found = deaths(broker, letter(second, "dead"))
    counts = sorted(
        (str(each.get("reason")), each.get("count")) for each in found if each.get("queue") == one
    )
    broker.judge("each reason once", "other deaths", counts == [("maxlen", 1), ("rejected", 1)])


@scenario("rabbitmq/dlx.history.queue")
@broken_by("tells another name", tells(queue="another"))
@broken_by("tells none", tells(queue=None))
def history_tells_the_queue(broker: Broker) -> None:
    """queue is the name of the queue where the message was rejected."""
    _, queue, seen = buried(broker)
    tell(broker, seen, {"queue": queue})


@scenario("rabbitmq/dlx.history.reason.rejected")
@broken_by("tells another reason", tells(reason="expired"))
@broken_by("tells none", tells(reason=None))
def history_tells_of_a_rejection(broker: Broker) -> None:
    """reason is rejected for a message that was rejected, and for one that was refused by Nack."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = mortal(channel, exchange, "Reject", "Nack")
    reject(channel, queue)
    channel.send(Basic.Nack(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag))
    for body in ("Reject", "Nack"):
        tell(broker, letter(reader, body), {"reason": "rejected"})


@scenario("rabbitmq/dlx.history.reason.expired")
@broken_by("tells another reason", tells(reason="rejected"))
@broken_by("tells none", tells(reason=None))
@broken_by("knows no expiration", takes(expiration=None))
def history_tells_of_an_expiry(broker: Broker) -> None:
    """reason is expired where the time of a message was over, its own or that of its queue."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    channel.publish("its own", key=mortal(channel, exchange), expiration=f"{SOON}")
    tell(broker, letter(reader, "its own"), {"reason": "expired"})
    mortal(channel, exchange, "its queue's", message_ttl=SOON)
    tell(broker, letter(reader, "its queue's"), {"reason": "expired"})


@scenario("rabbitmq/dlx.history.reason.maxlen")
@broken_by("tells another reason", tells(reason="rejected"))
@broken_by("tells none", tells(reason=None))
def history_tells_of_a_full_queue(broker: Broker) -> None:
    """reason is maxlen where the message was dropped from a queue that was too long."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    mortal(channel, exchange, "older", "newer", max_length=1)
    tell(broker, letter(reader, "older"), {"reason": "maxlen"})


@scenario("rabbitmq/dlx.history.count")
@broken_by("does not count", tells(count=1))
@broken_by("counts from zero", tells(count=lambda number: number - 1))
@broken_by("forgets", FORGETS)
def history_counts_deaths(broker: Broker) -> None:
    """count is 1, 2 and 3 in the letters for a message that is rejected three times in the same queue."""
    channel = broker.channel()
    channel.consume(mortal(channel, "", "dead"))
    dies(channel)
    for number in (1, 2, 3):
        tell(broker, dies(channel), {"count": number})


@scenario("rabbitmq/dlx.history.time", slow=True)
@broken_by("tells seconds", tells(time=lambda found: found.seconds))
@broken_by("tells the latest time", tells(time=lambda found: Timestamp(found.seconds + 1)))
@broken_by("tells none", tells(time=None))
def history_tells_when_it_began(broker: Broker) -> None:
    """time is a timestamp, and the same in the letter for a second death, more than a second later."""
    first, _, one, two = circle(broker, message_ttl=A_SECOND)
    first.publish("dead", key=one)
    dies(first)
    again = dies(first)
    reader = broker.channel().consuming(two, no_ack=True)
    told = next((each.get("time") for each in deaths(broker, again) if each.get("queue") == one), None)
    broker.judge("time as a timestamp", "another type", isinstance(told, Timestamp))
    tell(broker, letter(reader), {"queue": one, "time": told}, {"queue": two})


@scenario("rabbitmq/dlx.history.exchange")
@broken_by("tells the dead-letter exchange", tells(exchange="amq.fanout"))
@broken_by("tells none", tells(exchange=None))
@broken_by("tells the latest", changes(REJECTED, forgetting(lambda found: found[:1])))
def history_tells_the_exchange_before(broker: Broker) -> None:
    """exchange is where a message was published to, for a second queue the dead-letter exchange.

    It stays what it was when the message dies in the first queue again.
    """
    channel = broker.channel()
    first, second, one, two = circle(broker)
    channel.bind(one, source := channel.declare_exchange("fanout"))
    channel.publish("dead", exchange=source)
    dies(first)
    tell(broker, dies(second), {"queue": one, "exchange": source})
    dies(first)
    tell(broker, letter(second), {"queue": one, "exchange": source}, {"queue": two, "exchange": ""})


@scenario("rabbitmq/dlx.history.routing-keys")
@broken_by("tells the first key only", tells(routing_keys=lambda found: found[:1]))
@broken_by("tells BCC, too", tells(routing_keys=lambda found: [*found, "blind copy"]))
@broken_by("tells one key as a string", tells(routing_keys=lambda found: found[0]))
@broken_by("tells none", tells(routing_keys=None))
def history_tells_the_keys_before(broker: Broker) -> None:
    """routing-keys are the key of a message and that in CC, not that in BCC; they stay what they were."""
    channel = broker.channel()
    first, second, one, _ = circle(broker)
    channel.bind(one, source := channel.declare_exchange("fanout"))
    channel.publish("dead", exchange=source, key="key", headers={"CC": ["copy"], "BCC": ["blind copy"]})
    for consumer in (first, second, first):
        dies(consumer)
    told = deaths(broker, letter(second))[0].get("routing-keys")
    holds = isinstance(told, list) and sorted(told) == ["copy", "key"]
    broker.judge("routing-keys as published", "other routing-keys", holds)


@scenario("rabbitmq/dlx.history.original-expiration")
@broken_by("tells none", tells(original_expiration=None))
@broken_by("tells a number", tells(original_expiration=int))
@broken_by("knows no expiration", takes(expiration=None))
def history_tells_the_expiration(broker: Broker) -> None:
    """original-expiration is the expiration that a message died of; one that had none has no such field."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    channel.publish("dead", key=mortal(channel, exchange), expiration=f"{SOON}")
    tell(broker, letter(reader, "dead"), {"original-expiration": f"{SOON}"})
    tell(broker, buried(broker)[2], {"original-expiration": None})


@scenario("rabbitmq/dlx.expiration-removed")
@broken_by("leaves it there", letters(expiration="1"))
@broken_by("takes it off what expired alone", changes(REJECTED, leave_its_expiration))
def dead_letter_does_not_expire(broker: Broker) -> None:
    """A letter for a message that expired, and one for a message rejected before that, have no expiration.

    When a third message has expired they are both still in their queue.
    """
    channel, (exchange, reader) = broker.channel(), grave(broker)
    channel.bind(kept := channel.declare_queue(), exchange)
    reject(channel, expiring(channel, exchange, "rejected", in_time=100 * SOON))
    no_longer_expires(broker, letter(reader, "rejected"))
    for body in ("expired", "expired after it"):
        expiring(channel, exchange, body)
        no_longer_expires(broker, letter(reader, body))
    channel.gets(kept, b"rejected", b"expired")


def expiring(channel: AmqpChannel, exchange: str, body: str, in_time: int = SOON) -> str:
    """Publish a message that expires in so many milliseconds, and give its queue."""
    queue = mortal(channel, exchange)
    channel.publish(body, key=queue, expiration=f"{in_time}")
    return queue


def no_longer_expires(broker: Broker, seen: Received) -> None:
    """Judge that a letter has no expiration."""
    broker.judge("no expiration", "an expiration", getattr(seen.properties, "expiration", None) is None)


@scenario("rabbitmq/dlx.first-death")
@broken_by("tells no queue", delivers(headers=without("x-first-death-queue")))
@broken_by("tells no reason", delivers(headers=without("x-first-death-reason")))
@broken_by("tells no exchange", delivers(headers=without("x-first-death-exchange")))
@broken_by("knows no dead letters", UNKNOWN)
def headers_tell_of_the_first_death(broker: Broker) -> None:
    """The three headers x-first-death-… have queue, reason and exchange of the only death."""
    told_of(broker, "first", *buried(broker))


@scenario("rabbitmq/dlx.last-death")
@broken_by("tells no queue", delivers(headers=without("x-last-death-queue")))
@broken_by("tells no reason", delivers(headers=without("x-last-death-reason")))
@broken_by("tells no exchange", delivers(headers=without("x-last-death-exchange")))
@broken_by("knows no dead letters", UNKNOWN)
def headers_tell_of_the_last_death(broker: Broker) -> None:
    """The three headers x-last-death-… have queue, reason and exchange of the only death."""
    told_of(broker, "last", *buried(broker))


def told_of(
    broker: Broker, which: str, exchange: str, queue: str, seen: Received, reason: str = "rejected"
) -> None:
    """Judge what is told of a death in three headers."""
    for name, value in (("queue", queue), ("reason", reason), ("exchange", exchange)):
        header = f"x-{which}-death-{name}"
        broker.judge(f"{header} of this death", f"another {header}", headers_of(seen).get(header) == value)


def twice(broker: Broker) -> tuple[str, str, str, Received]:
    """Let a message be rejected in one queue and expire in the next; give source, queues and last letter."""
    channel = broker.channel()
    first, _, one, two = circle(broker, message_ttl=SOON)
    channel.bind(one, source := channel.declare_exchange("fanout"))
    channel.publish("dead", exchange=source)
    dies(first)
    return source, one, two, letter(first)


@scenario("rabbitmq/dlx.first-death.kept")
@broken_by("tells the latest", delivers(headers=lambda found: {**found, "x-first-death-reason": "expired"}))
@broken_by("tells none", delivers(headers=without("x-first-death-queue")))
def first_death_stays_the_first(broker: Broker) -> None:
    """When a message was rejected and then expired elsewhere, x-first-death-… tell of the rejection."""
    source, one, _, seen = twice(broker)
    told_of(broker, "first", source, one, seen)


@scenario("rabbitmq/dlx.last-death.updated")
@broken_by("tells the first", delivers(headers=lambda found: {**found, "x-last-death-reason": "rejected"}))
@broken_by("tells none", delivers(headers=without("x-last-death-queue")))
def last_death_becomes_the_latest(broker: Broker) -> None:
    """When a message was rejected and then expired elsewhere, x-last-death-… tell of the expiry."""
    _, _, two, seen = twice(broker)
    told_of(broker, "last", "", two, seen, "expired")
