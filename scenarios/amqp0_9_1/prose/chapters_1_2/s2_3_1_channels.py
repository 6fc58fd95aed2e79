"""2.3.1: channels share a connection, and every frame has the number of its own."""

from collections.abc import Sequence

from harness.amqp0_9_1.broken.deviations import spoils
from harness.amqp0_9_1.broken.frame_faults import next_channel, on_channel, sent_on, sent_whole
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, fields, message, on_its_channel
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic, Channel, Queue
from harness.play.expect import Outcome
from scenarios.registry import broken_by, scenario

NUMBERS = 1, 2, 7
"""The channels that ask at once."""


def several(number: int) -> bool:
    return number > 1


@scenario("0-9-1/prose/2.3.1.frames-on-their-channel")
@broken_by("opens the next channel", spoils(sent_on(Channel.OpenOk, bool), next_channel))
@broken_by("opens channels on channel 0", spoils(sent_on(Channel.OpenOk, bool), on_channel(0)))
@broken_by("opens all channels as the first", spoils(sent_on(Channel.OpenOk, bool), on_channel(1)))
@broken_by("answers Declare on channel 0", spoils(sent_on(Queue.DeclareOk, bool), on_channel(0)))
@broken_by("answers Declare on the first channel", spoils(sent_on(Queue.DeclareOk, several), on_channel(1)))
@broken_by("has messages got on the next channel", spoils(sent_whole(Basic.GetOk, bool), next_channel))
@broken_by("has none to get on channel 9", spoils(sent_on(Basic.GetEmpty, bool), on_channel(9)))
def channels_that_ask_at_once_have_their_own_answers(broker: Broker) -> None:
    """Declare, Get of what is there and Get of what is not are answered on each channel for itself."""
    connection = broker.connection()
    channels = [connection.unopened(number) for number in NUMBERS]
    each_is_answered(channels, [Channel.Open() for _ in channels], [answered(Channel.OpenOk)] * 3)
    queues = [each.new_name("queue") for each in channels]
    declared = [fields(Queue.DeclareOk, queue=queue) for queue in queues]
    each_is_answered(channels, [Queue.Declare(queue) for queue in queues], declared)
    for queue in queues:
        channels[0].publish(queue, key=queue)
    channels[0].fence()
    gets = [Basic.Get(queue, no_ack=True) for queue in queues]
    each_is_answered(channels, gets, [message(Basic.GetOk, queue.encode()) for queue in queues])
    each_is_answered(channels, gets, [answered(Basic.GetEmpty)] * 3)


def each_is_answered(
    channels: Sequence[AmqpChannel], asked: Sequence[Method], due: Sequence[Outcome]
) -> None:
    """Ask on all channels before any answer is taken, and judge that each has its own."""
    for channel, method in zip(channels, asked, strict=True):
        channel.send(method)
    for channel, answer in zip(channels, due, strict=True):
        channel.expect(on_its_channel(answer))


@scenario("0-9-1/prose/2.3.1.frames-on-their-channel")
@broken_by("returns on the next channel", spoils(sent_whole(Basic.Return, bool), next_channel))
@broken_by("returns on channel 0", spoils(sent_whole(Basic.Return, bool), on_channel(0)))
@broken_by("closes the next channel", spoils(sent_on(Channel.Close, bool), next_channel))
@broken_by("closes channels on channel 0", spoils(sent_on(Channel.Close, bool), on_channel(0)))
@broken_by("closes all channels as the first", spoils(sent_on(Channel.Close, several), on_channel(1)))
def what_channels_did_comes_back_to_them(broker: Broker) -> None:
    """What has no route is returned, and what is missing refused, on the channel that sent or asked."""
    connection = broker.connection()
    channels = [connection.channel(number) for number in NUMBERS]
    for channel in channels:
        channel.publish(f"of {channel.number}", key=channel.new_name("queue"), mandatory=True)
    for channel in channels:
        channel.expect(on_its_channel(message(Basic.Return, f"of {channel.number}".encode())))
    for channel in channels:
        channel.send(Queue.Declare(channel.new_name("queue"), passive=True))
        channel.expect(on_its_channel(channel_closed(NOT_FOUND)))
