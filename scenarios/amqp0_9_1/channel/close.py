"""channel.close."""

from harness.amqp0_9_1.broken.deviations import answers, drops
from harness.amqp0_9_1.broken.end_faults import obeys
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import answered, channel_closed
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.tables.queue import create_queue, declare_ok, delete_it, purge_queue
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, REPLY_SUCCESS, Basic, Channel, Queue
from scenarios.registry import broken_by, scenario

CLOSING = "channel: closing hears only Close and Close-Ok"


@scenario("0-9-1/channel.close.stability")
@broken_by(
    "serves methods after its Close", obeys(ChannelState.CLOSING, Queue.Declare, create_queue, declare_ok)
)
@broken_by("obeys in silence", obeys(ChannelState.CLOSING, Queue.Declare, create_queue))
@broken_by("purges after its Close", obeys(ChannelState.CLOSING, Queue.Purge, purge_queue))
@broken_by("deletes after its Close", obeys(ChannelState.CLOSING, Queue.Delete, delete_it))
@broken_by("never frees the channel", drops("channel.close-ok: frees the channel"))
@broken_by(
    "answers what it discards",
    answers(Queue.Declare, Queue.DeclareOk("discarded"), when=lambda it: not it.passive and not it.durable),
)
def what_follows_the_servers_close_is_discarded(broker: Broker) -> None:
    """After the server's Close what we ask for has no answer and no effect; a Close gets Close-Ok.

    A passive Declare of what is not there makes the server send Close. Open, which follows our Close-Ok,
    shows that nothing else came, and that the channel is free again.
    """
    channel, witness = broker.channel(), broker.channel()
    queue, kept = channel.new_name("queue"), witness.declare_queue(durable=True)
    witness.publish(b"kept", key=kept)
    channel.send(Queue.Declare(queue, passive=True))
    channel.control("a passive Declare of what is not there", Channel.Close)
    channel.send(Queue.Declare(queue))
    channel.publish(b"discarded", key=kept)
    for discarded in (Queue.Purge(kept), Queue.Delete(kept)):
        channel.send(discarded)
    channel.send(Channel.Close(REPLY_SUCCESS, "crossing"), Channel.CloseOk(), Channel.Open())
    not_confirmed = answered(Channel.OpenOk).under("Close-Ok for a crossing Close is a must in lower case")
    if isinstance(channel.expect(Channel.CloseOk, not_confirmed), Channel.CloseOk):
        channel.expect(Channel.OpenOk)
    witness.gets(kept, b"kept")
    witness.tries(Basic.Get(kept, no_ack=True), Basic.GetEmpty)
    witness.tries(Queue.Declare(queue, passive=True), channel_closed(NOT_FOUND))
