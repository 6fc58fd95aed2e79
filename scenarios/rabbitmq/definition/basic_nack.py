"""basic.nack: messages are refused, one or several at once."""

from functools import partial
from itertools import product

from harness.amqp0_9_1.broken.basic_faults import hold_what_is_rejected, last_come_last, tag_was_never_given
from harness.amqp0_9_1.broken.deviations import (
    answers,
    changes,
    confirms,
    drops,
    forwards,
    ignores,
    replies,
    rewrites,
    swaps,
)
from harness.amqp0_9_1.broken.settling_faults import (
    consumed_only,
    discard_what_was_consumed,
    is_far_away,
    reject_on_any_channel,
    up_to_but_not_including,
    zero_is_nothing,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE, QUIET
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, message, silence
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import discard_rejected, requeue_rejected
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.vocabulary import (
    COMMAND_INVALID,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Confirm,
    Connection,
    Queue,
)
from scenarios.amqp0_9_1.basic.ack import REFUSED, taken
from scenarios.amqp0_9_1.basic.reject import refused_amid_its_content
from scenarios.registry import broken_by, scenario
from spec.rules import Role

UNKNOWN = "basic.nack: refuses a tag of no delivered message"
DISCARDS = "basic.nack: discards"
REQUEUES = "basic.nack: requeues for others"
MANY = 100
"""Refused messages: a server that takes turns, or chance, sends some of so many back."""
REFUSING = (
    rewrites(
        Connection.Start,
        server_properties=lambda told: {
            **told,
            "capabilities": {"publisher_confirms": True, "basic.nack": True},
        },
    ),
    answers(Confirm.Select, Confirm.SelectOk()),
    confirms(Basic.Publish, Basic.Nack(1)),
)
"""Our server has confirms, and says Nack for the first message."""
AGAIN = "what is put back may be ready for redelivery at once, to whichever consumer has room"


def filled(channel: AmqpChannel, count: int) -> str:
    """Give a queue with the messages 1, 2, and so on."""
    queue = channel.declare_queue()
    for number in range(count):
        channel.publish(f"{number + 1}", key=queue)
    channel.depth(queue)
    return queue


def left(broker: Broker, queue: str, *expected: str) -> None:
    """Judge that just these messages are ready in the queue, in this order."""
    bodies = [body.decode("utf-8", "backslashreplace") for body in broker.channel().drain(queue)]
    wanted, found = (f"messages {', '.join(each) or 'none'} in the queue" for each in (expected, bodies))
    broker.judge(wanted, found, [*expected] == bodies)


@scenario("rabbitmq/basic.nack.01")
@broken_by("does not hear it", ignores(Basic.Nack))
@broken_by("takes it and does nothing", changes(DISCARDS, hold_what_is_rejected))
@broken_by("brings the message back", changes(DISCARDS, requeue_rejected))
@broken_by("takes it for an intrusion", changes(DISCARDS, answer=refuse(UNEXPECTED_FRAME)))
def nack_is_processed_while_content_is_sent(broker: Broker) -> None:
    """Nack without requeue, sent when the Deliver of a long message has come, takes effect; nothing ends.

    The content may come whole or cut short. Afterwards the message is gone: another one is next.
    """
    left(broker, refused_amid_its_content(broker, Basic.Deliver, Basic.Nack))


@scenario("rabbitmq/basic.nack.01")
@broken_by("does not hear it for what was got", changes(DISCARDS, discard_what_was_consumed))
def nack_is_processed_while_content_is_got(broker: Broker) -> None:
    """As before, with Get: Nack sent when the Get-Ok of a long message has come takes effect."""
    left(broker, refused_amid_its_content(broker, Basic.GetOk, Basic.Nack))


@scenario("rabbitmq/basic.nack.02")
@broken_by("discards it", changes(REQUEUES, discard_rejected))
@broken_by("takes it for processed", forwards(Basic.Nack, requeue=False))
@broken_by("does not hear it", ignores(Basic.Nack))
@broken_by("knows no Nack", changes(REQUEUES, answer=refuse(NOT_IMPLEMENTED)))
def refused_message_is_there_for_another(broker: Broker) -> None:
    """A message taken with Get and refused with requeue is delivered to a consumer on another connection."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = filled(channel, 1)
    tag = channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    other.consume(queue)
    channel.send(Basic.Nack(tag, requeue=True))
    channel.stays_quiet()
    other.expect(message(Basic.Deliver, b"1"))


@scenario("rabbitmq/basic.nack.of-got")
@broken_by("hears it for what was consumed alone", swaps(named=consumed_only))
@broken_by("does not hear it for what was got", changes(DISCARDS, discard_what_was_consumed))
@broken_by("knows no Nack", changes(DISCARDS, answer=refuse(NOT_IMPLEMENTED)))
def what_was_got_can_be_refused(broker: Broker) -> None:
    """Of three messages that were got two are refused with one Nack; the third comes again, and no other."""
    channel = broker.channel()
    queue = filled(channel, 3)
    _, second, _ = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in range(3)]
    channel.send(Basic.Nack(second, multiple=True))
    channel.stays_quiet()
    channel.close()
    left(broker, queue, "3")


@scenario("rabbitmq/basic.nack.multiple.exists")
@broken_by("takes any tag", drops(UNKNOWN))
@broken_by("takes the tag that comes next", changes(UNKNOWN, condition=is_far_away))
@broken_by("ends the connection", changes(UNKNOWN, answer=refuse(UNEXPECTED_FRAME)))
def tag_that_was_never_delivered_is_refused(broker: Broker) -> None:
    """Nack with the tag of a delivered message is taken, with the next one refused: 406."""
    for multiple, requeue in product((False, True), repeat=2):
        channel = broker.channel()
        nack = partial(Basic.Nack, multiple=multiple, requeue=requeue)
        channel.send(nack(taken(channel)))
        channel.stays_quiet()
        channel.tries(nack(taken(channel) + 1), *REFUSED)


@scenario("rabbitmq/basic.nack.multiple.exists")
@broken_by("lets a message be refused twice", changes(UNKNOWN, condition=tag_was_never_given))
@broken_by("overlooks the second one", ignores(Basic.Nack, skip=1))
def message_cannot_be_refused_twice(broker: Broker) -> None:
    """The first Nack of a delivered message is taken, the second one refused: 406."""
    for multiple in (False, True):
        channel = broker.channel()
        nack = Basic.Nack(taken(channel), multiple)
        channel.send(nack)
        channel.stays_quiet()
        channel.tries(nack, *REFUSED)


@scenario("rabbitmq/basic.nack.multiple.exists")
@broken_by("refuses on any channel", changes(UNKNOWN, reject_on_any_channel, answer=None))
def tag_of_another_channel_is_refused(broker: Broker) -> None:
    """Nack for a message of another channel is refused with 406: tags belong to their channel."""
    channel, other = broker.channel(), broker.channel()
    tag = taken(channel)
    other.tries(Basic.Nack(tag), *REFUSED)


@scenario("rabbitmq/basic.nack.multiple.up-to")
@broken_by("takes it for one message", forwards(Basic.Nack, multiple=False))
@broken_by("takes it for all up to the tag", forwards(Basic.Nack, multiple=True))
@broken_by("leaves the tag itself out", swaps(named=up_to_but_not_including))
@broken_by("brings the messages back", changes(DISCARDS, requeue_rejected))
def tag_stands_for_all_up_to_it(broker: Broker) -> None:
    """Of four messages two are refused with multiple, the last without: the third comes again alone."""
    channel = broker.channel()
    queue = filled(channel, 4)
    channel.consume(queue)
    _, second, _, fourth = [each.method.delivery_tag for each in channel.deliveries(4)]
    channel.send(Basic.Nack(second, multiple=True), Basic.Nack(fourth))
    channel.stays_quiet()
    channel.close()
    left(broker, queue, "3")


@scenario("rabbitmq/basic.nack.multiple.all")
@broken_by("takes zero for the tag of no message", swaps(named=zero_is_nothing))
@broken_by("refuses zero", changes(UNKNOWN, condition=lambda turn: not turn.event.delivery_tag))
@broken_by("brings the messages back", changes(DISCARDS, requeue_rejected))
def zero_stands_for_all_that_is_out(broker: Broker) -> None:
    """With three messages out on a channel and one on another, a Nack of all leaves the one of the other."""
    channel, other = broker.channel(), broker.channel()
    queue = filled(channel, 4)
    for each in (channel, channel, channel, other):
        each.ask(Basic.Get(queue), Basic.GetOk)
    channel.send(Basic.Nack(0, multiple=True))
    channel.stays_quiet()
    channel.close()
    other.close()
    left(broker, queue, "4")


@scenario("rabbitmq/basic.nack.requeue.01", slow=True)
@broken_by("knows no requeue", changes(REQUEUES, answer=refuse(NOT_IMPLEMENTED)))
@broken_by("takes no tag", changes(UNKNOWN, condition=lambda turn: bool(turn.event.delivery_tag)))
def refused_messages_do_not_come_back_to_their_channel(broker: Broker) -> None:
    """Messages refused with requeue while a second consumer waits: better none comes to the channel again.

    The second consumer, on a connection of its own, gets them; that it gets none is legal.
    """
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = filled(channel, MANY)
    channel.consume(queue)
    last = channel.deliveries(MANY)[-1].method.delivery_tag
    other.consume(queue)
    channel.send(Basic.Nack(last, multiple=True, requeue=True))
    for _ in range(2):
        channel.send(FENCE)
        seen = channel.expect(QUIET, message(Basic.Deliver).under(AGAIN))
        if isinstance(seen, Basic.Deliver):
            return
        other.fence()
    other.expect(message(Basic.Deliver), silence().under("the server may hold what was refused"))


@scenario("rabbitmq/basic.nack.requeue.place")
@broken_by("puts it behind all others", swaps(place=last_come_last))
@broken_by("discards it", forwards(Basic.Nack, requeue=False))
@broken_by("does not hear it", ignores(Basic.Nack))
@broken_by("knows no requeue", changes(REQUEUES, answer=refuse(PRECONDITION_FAILED)))
def what_is_put_back_takes_its_old_place(broker: Broker) -> None:
    """Of three messages that were got the second is refused with requeue: it comes before the fourth."""
    channel = broker.channel()
    queue = filled(channel, 4)
    _, second, _ = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in range(3)]
    channel.send(Basic.Nack(second, requeue=True))
    channel.stays_quiet()
    left(broker, queue, "2", "4")


@scenario("rabbitmq/basic.nack.04", role=Role.CLIENT)
@broken_by("closes the channel for it", replies(Basic.Nack, Channel.Close(COMMAND_INVALID)), Role.CLIENT)
@broken_by("says nothing more", ignores(Queue.Declare), Role.CLIENT)
def a_client_takes_nack_for_what_it_publishes(client: Client) -> None:
    """A message published with confirms is refused by Nack: the channel goes on, and declares two queues."""
    connection = client.connection(*REFUSING)
    channel = connection.channel()
    channel.call("confirm.select")
    channel.tries_to_publish("x", key=client.name("queue"))
    connection.came(Basic.Publish)
    connection.lives(0.0)
    # The second is asked for behind the answer to the first, which comes behind Nack.
    for queue in (client.name("queue"), client.name("queue")):
        channel.tries("queue.declare", queue=queue)
        connection.expect(answered(Queue.Declare))
