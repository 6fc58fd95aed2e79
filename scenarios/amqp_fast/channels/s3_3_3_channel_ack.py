"""3.3.3 CHANNEL ACK Command."""

from harness.amqp_fast.broken.channel_faults import (
    REFUSES_WHAT_COVERS_NOTHING,
    acknowledge_in_advance,
    below,
    confirmed_always,
    everything,
    exactly,
    nobody,
    of_one_handle,
    on_all_channels,
    up_to_what_exists,
)
from harness.amqp_fast.broken.deviations import Fault, hears, rewrites
from harness.amqp_fast.client.channel import FastChannel
from harness.amqp_fast.client.outcomes import replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.wire.vocabulary import Channel, Handle
from harness.play.watching import Found, Gaps
from scenarios.amqp_fast.channels.common import holds
from scenarios.amqp_fast.channels.watched import MESSAGES, Messages
from scenarios.registry import broken_by, scenario, watch

TAKEN = "channel ack: is taken"
BY_THE_LIST = "1591: the list of what a server expects names HANDLE REPLY"
NUMBERED = "fast/3.3.3.numbers-of-the-channel"


def tries_to_ack(channel: FastChannel, number: int, tag: int = 0) -> None:
    """Judge that CHANNEL ACK up to a number is confirmed. Raises Unmet."""
    tag = tag or channel.connection.tag()
    channel.send(Channel.Ack(channel.id, tag, number))
    channel.expect(replied(Channel.Reply, tag), replied(Handle.Reply, tag).under(BY_THE_LIST))


@scenario("fast/3.3.3.ack-confirmed")
@broken_by("does not confirm", Fault.changes(TAKEN, answer=None))
@broken_by("confirms unasked", Fault.changes(TAKEN, answer=confirmed_always))
@broken_by("gives another tag", rewrites(Channel.Reply, confirm_tag=lambda tag: tag + 1, skip=1))
def ack_with_a_tag_is_confirmed(server: Server) -> None:
    """CHANNEL ACK with a tag is confirmed with it; one without a tag before it is not."""
    reader = server.handle(new_connection=True).consume(server.queue(b"first"))
    number = reader.messages(1)[0].command.message_nbr
    tries_to_ack(reader.channel, number)
    reader.send(Channel.Ack(reader.channel.id, 0, number))
    tries_to_ack(reader.channel, number)


@scenario("fast/3.3.9.ack-confirmed-with-handle-reply")
@broken_by("does not confirm", Fault.changes(TAKEN, answer=None))
@broken_by("confirms with the number", Fault.changes(TAKEN, answer=lambda it: (as_number(it.event),)))
def ack_is_confirmed_by_either_reply(server: Server) -> None:
    """For messages on two handles each CHANNEL ACK has its confirmation; of which class, is recorded."""
    channel = server.channel(new_connection=True)
    for bodies in ((b"1", b"2"), (b"3",)):
        channel.handle().consume(server.queue(*bodies))
    numbers = [each.command.message_nbr for each in channel.messages(3)]
    for number in numbers[1:]:
        tag = channel.connection.tag()
        channel.send(Channel.Ack(channel.id, tag, number))
        channel.expect(*(replied(kind, tag).recorded() for kind in (Channel.Reply, Handle.Reply)))
    channel.stays_quiet()


def as_number(ack: Channel.Ack) -> Channel.Reply:
    return Channel.Reply(ack.channel_id, ack.message_nbr + 100, 200)


@scenario("fast/3.3.3.ack-up-to-the-message")
@broken_by("stops before the message", Fault.swaps(covered=below))
@broken_by("takes the message alone", Fault.swaps(covered=exactly))
@broken_by("takes all that was delivered", Fault.swaps(covered=everything))
def ack_covers_all_up_to_its_message(server: Server) -> None:
    """Of five messages the third is acknowledged: when the channel is closed two come again."""
    bodies = [b"1", b"2", b"3", b"4", b"5"]
    queue = server.queue(*bodies)
    reader = server.handle(new_connection=True).consume(queue, prefetch=5)
    reader.channel.ack(reader.messages(5)[2].command.message_nbr)
    reader.channel.close()
    holds(server, queue, b"4", b"5")


@scenario("fast/3.3.3.ack-all-destinations")
@broken_by("takes those of one handle", Fault.swaps(covered=of_one_handle))
@broken_by("takes the message alone", Fault.swaps(covered=exactly))
def ack_covers_all_handles_of_its_channel(server: Server) -> None:
    """Messages of two queues on one channel are acknowledged by one number; without it they come again."""
    for acknowledged in (False, True):
        queues = [server.queue(b"1", b"2"), server.queue(b"3", b"4")]
        channel = server.channel(new_connection=True)
        for queue in queues:
            channel.handle().consume(queue)
        numbers = [each.command.message_nbr for each in channel.messages(4)]
        if acknowledged:
            channel.ack(max(numbers))
        channel.close()
        holds(server, queues[0], *([] if acknowledged else [b"1", b"2"]))
        holds(server, queues[1], *([] if acknowledged else [b"3", b"4"]))


@scenario("fast/3.3.3.ack-one-channel")
@broken_by("takes those of all channels", Fault.changes(TAKEN, on_all_channels(rows.acknowledge)))
@broken_by("takes none", Fault.swaps(covered=nobody))
def ack_covers_its_own_channel_alone(server: Server) -> None:
    """Of messages on two channels of a connection those of one are acknowledged: the others come again."""
    first, second = server.queue(b"first"), server.queue(b"second")
    connection = server.connection()
    readers = [connection.channel().handle().consume(queue) for queue in (first, second)]
    for reader in readers:
        reader.messages(1)
    readers[0].channel.ack(65535)
    for reader in readers:
        reader.channel.close()
    holds(server, first)
    holds(server, second, b"second")


@scenario("fast/3.3.3.ack-need-not-exist")
@broken_by("wants it to exist", Fault.swaps(covered=up_to_what_exists))
@broken_by("refuses what covers nothing", Fault.inserts(TAKEN, REFUSES_WHAT_COVERS_NOTHING))
@broken_by("takes later ones, too", Fault.changes(TAKEN, acknowledge_in_advance))
def ack_may_name_what_does_not_exist(server: Server) -> None:
    """A number far above those received covers them, and again; what is delivered later it does not."""
    queue = server.queue(b"1", b"2")
    reader = server.handle(new_connection=True).consume(queue)
    first, second = (each.command.message_nbr for each in reader.messages(2))
    tries_to_ack(reader.channel, second + 1000)
    tries_to_ack(reader.channel, first)
    server.handle().publish(queue, b"3")
    reader.hears(b"3")
    reader.channel.close()
    holds(server, queue, b"3")


@scenario("fast/3.3.3.ack-of-nothing")
@broken_by("refuses what covers nothing", Fault.inserts(TAKEN, REFUSES_WHAT_COVERS_NOTHING))
@broken_by("takes later ones, too", Fault.changes(TAKEN, acknowledge_in_advance))
def ack_where_nothing_was_delivered_is_accepted(server: Server) -> None:
    """With nothing delivered CHANNEL ACK is confirmed, whatever it names; a later message is not covered."""
    queue = server.queue()
    reader = server.handle(new_connection=True).consume(queue)
    for number in (0, 1, 65536):
        tries_to_ack(reader.channel, number)
    server.handle().publish(queue, b"later")
    reader.hears(b"later")
    reader.channel.close()
    holds(server, queue, b"later")


@scenario("fast/3.3.3.ack-lets-more-come")
@broken_by("takes no notice", Fault.swaps(covered=nobody))
@broken_by("does not wait for it", hears(Handle.Consume, no_ack=True))
@broken_by("counts messages as one", Fault.swaps(covered=exactly))
def ack_makes_room_for_more(server: Server) -> None:
    """With a prefetch of two, two messages come; with each one acknowledged, one more."""
    queue = server.queue(b"1", b"2", b"3", b"4", b"5")
    reader = server.handle(new_connection=True).consume(queue, prefetch=2)
    first = reader.hears(b"1", b"2")
    reader.stays_quiet()
    tries_to_ack(reader.channel, first[1].command.message_nbr)
    third, _ = reader.hears(b"3", b"4")
    reader.stays_quiet()
    tries_to_ack(reader.channel, third.command.message_nbr)
    reader.hears(b"5")


@scenario("fast/3.3.3.unacknowledged-not-lost")
@broken_by("takes what it has sent for processed", hears(Handle.Consume, no_ack=True))
@broken_by("takes all for acknowledged", Fault.swaps(covered=everything))
@broken_by("takes none for acknowledged", Fault.swaps(covered=nobody))
def what_is_not_acknowledged_comes_again(server: Server) -> None:
    """Of two messages one is acknowledged when the connection is dropped: the other one comes again."""
    for no_ack in (True, False):
        queue = server.queue(b"1", b"2")
        reader = server.handle(new_connection=True).consume(queue, no_ack=no_ack)
        number = reader.messages(2)[0].command.message_nbr
        reader.channel.ack(number)
        reader.connection.drop()
        holds(server, queue, *([] if no_ack else [b"2"]))


@scenario(NUMBERED)
@broken_by("has the same number twice", rewrites(Handle.Notify, message_nbr=lambda number: number // 2))
@broken_by("counts down", rewrites(Handle.Notify, message_nbr=lambda number: 1000 - number))
def messages_of_a_channel_are_numbered(server: Server) -> None:
    """Six messages by two handles of one channel have six numbers that grow; a second channel its own."""
    queues = [server.queue(b"1", b"2", b"3") for _ in range(3)]
    connection = server.connection()
    first, second = connection.channel(), connection.channel()
    for channel, queue in zip((first, first, second), queues, strict=True):
        channel.handle().consume(queue)
    for channel, count in ((first, 6), (second, 3)):
        numbers = [each.command.message_nbr for each in channel.messages(count)]
        server.judge("growing numbers", "numbers that do not grow", numbers == sorted({*numbers}))


@watch("fast/3.3.3.numbers-ascend", during=NUMBERED, looks_at=MESSAGES, start=Messages, gap=Gaps.STOPS)
@broken_by("has one number for all", rewrites(Handle.Notify, message_nbr=7))
@broken_by("counts down", rewrites(Handle.Notify, message_nbr=lambda number: 1000 - number))
def numbers_grow(messages: Messages, each: Passage) -> Found:
    """Each message that is delivered has a higher number than the one before it on its channel."""
    step = _step(messages, each)
    return None if step is None else step > 0 or f"a number that did not grow, at {each.at:.4f} s"


@watch("fast/3.3.3.numbers-consecutive", during=NUMBERED, looks_at=MESSAGES, start=Messages, gap=Gaps.STOPS)
@broken_by("leaves out every second number", rewrites(Handle.Notify, message_nbr=lambda number: 2 * number))
@broken_by("begins anew after three", rewrites(Handle.Notify, message_nbr=lambda number: number % 3))
def numbers_have_no_gap(messages: Messages, each: Passage) -> Found:
    """Each message that is delivered has the number of the one before it on its channel, and one more."""
    step = _step(messages, each)
    return None if step is None else step == 1 or f"a step of {step} between numbers, at {each.at:.4f} s"


def _step(messages: Messages, each: Passage) -> int | None:
    """Give by how much the number grew from one message delivered to the next; None for all else."""
    notify = messages.see(each.said)
    if notify is None or messages.goes_on(notify) or not notify.delivered:
        return None
    channel, number = messages.channel(notify), notify.message_nbr
    before = messages.last.get(channel)
    messages.last[channel] = number
    return None if before is None else number - before


@watch(
    "fast/3.3.3.fragments-share-a-number",
    during="fast/3.4.2.long-messages-split",
    looks_at=MESSAGES,
    start=Messages,
    gap=Gaps.STOPS,
)
@broken_by(
    "numbers fragments",
    rewrites(Handle.Notify, lambda it: it.partial, message_nbr=lambda number: number + 1),
)
@broken_by(
    "numbers the last one only", rewrites(Handle.Notify, when=lambda it: it.partial, message_nbr=0xFFFF)
)
def fragments_have_one_number(messages: Messages, each: Passage) -> Found:
    """All fragments of a message have its number."""
    notify = messages.see(each.said)
    before = notify and messages.goes_on(notify)
    if notify is None or before is None:
        return None
    return notify.message_nbr == before.message_nbr or f"another number within a message, at {each.at:.4f} s"
