"""What the guides to replies and to further keys ask of clients: what an application asks for is sent so."""

from collections.abc import Mapping
from functools import partial
from itertools import accumulate
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer, adds, answers, forwards, mends, replies
from harness.amqp0_9_1.broken.frame_faults import on_channel, sent_on, sent_whole
from harness.amqp0_9_1.broken.provocations import carried, follows, says_back
from harness.amqp0_9_1.client.outcomes import Received, fields, message
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.field_tables import As, encode_value, shortstr
from harness.amqp0_9_1.wire.frames import Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from harness.peers.interposer import Passed, Rule
from scenarios.amqp0_9_1.getting import header_sent
from scenarios.amqp0_9_1.prose.chapter_4.clients.s4_2_1_tables import sends_headers
from scenarios.rabbitmq.routing.direct_reply_to import REPLIES
from scenarios.registry import broken_by, scenario
from spec.rules import Role

# -- replies -------------------------------------------------------------------------------------------

TAG = "replies"
REPLY = carried(Basic.Deliver(TAG, 1, routing_key="amq.rabbitmq.reply-to.made-up"), b"reply")


def confirms(channel: int, asked: Any) -> Passed:
    confirmed = Basic.ConsumeOk(asked.consumer_tag or TAG)
    return [], [] if asked.no_wait else [method_frame(channel, confirmed)]


def ended(asked: Any) -> Basic.CancelOk:
    return Basic.CancelOk(asked.consumer_tag)


SERVES_REPLIES = Interposer((Rule(Basic.Consume, False, confirms),)) + says_back(Basic.Cancel, ended)
"""A server that has the pseudo-queue: it confirms every consumer, and its end."""


def another(frame: Frame) -> Frame:
    return method_frame(frame.channel, Basic.Consume(REPLIES, "another", no_ack=True, no_wait=True))


@scenario("rabbitmq/direct-reply-to.automatic-mode", role=Role.CLIENT)
@broken_by("has them acknowledged", forwards(Basic.Consume, no_ack=False), Role.CLIENT)
@broken_by("acknowledges them", replies(Basic.Deliver, Basic.Ack(1)), Role.CLIENT)
def client_takes_replies_without_acknowledging_them(client: Client) -> None:
    """Told to consume replies in automatic mode the client says so, and acknowledges none."""
    connection = client.connection(SERVES_REPLIES, follows(Queue.DeclareOk, REPLY))
    channel = connection.channel()
    channel.tries_to_receive(REPLIES, settled=True, tag=TAG)
    connection.expect(fields(Basic.Consume, queue=REPLIES, no_ack=True))
    channel.tries("queue.declare", queue=client.name("queue"))
    connection.came(Queue.Declare)
    connection.stays_quiet()


def most_consumers(connection: JudgedConnection) -> int:
    """Say how many consumers the client had at once, as far as it had cancelled those before."""
    connection.hear_out()
    said = [readable(each) for each in connection.link.received()]
    steps = (isinstance(each, Basic.Consume) - isinstance(each, Basic.Cancel) for each in said)
    return max(accumulate(steps))


@scenario("rabbitmq/direct-reply-to.one-consumer", role=Role.CLIENT)
@broken_by("starts another beside", adds(sent_on(Basic.Consume), another, from_server=False), Role.CLIENT)
@broken_by("keeps the first", answers(Basic.Cancel, Basic.CancelOk(TAG)), Role.CLIENT)
def client_has_one_consumer_of_replies(client: Client) -> None:
    """Told to consume replies, to stop, and to consume them again, the client has one consumer at a time."""
    connection = client.connection(SERVES_REPLIES)
    channel = connection.channel()
    for _ in range(2):
        client.attempted("stop", on=channel.on, tag=channel.receive(REPLIES))
    client.judge("one consumer at a time", "several", most_consumers(connection) == 1)


@scenario("rabbitmq/direct-reply-to.same-channel", role=Role.CLIENT)
@broken_by(
    "publishes all on the first",
    mends(sent_whole(Basic.Publish, lambda number: number > 1), on_channel(1)),
    Role.CLIENT,
)
def client_asks_on_the_channel_of_its_replies(client: Client) -> None:
    """Told to ask on that of two channels on which it consumes replies, the client publishes there."""
    connection = client.connection(SERVES_REPLIES)
    _, channel = connection.channel(), connection.channel()
    channel.tries_to_receive(REPLIES)
    consumes = connection.expect(fields(Basic.Consume, queue=REPLIES))
    channel.tries_to_publish("request", key=client.name("queue"), properties={"reply-to": REPLIES})
    asks = connection.expect(message(Basic.Publish, b"request", carrying={"reply_to": REPLIES}))
    assert isinstance(consumes, Received)  # else it is unmet
    assert isinstance(asks, Received)
    client.judge("the channel of its replies", "another channel", asks.channel == consumes.channel)


# -- further keys --------------------------------------------------------------------------------------

KEYS: Mapping[str, list[str]] = {"CC": ["one", "two"], "BCC": ["three"]}


def as_array(name: str) -> bytes:
    """Give a header as the guide has it: an array whose values are long strings."""
    return shortstr(name) + encode_value(As("A", [As("S", each) for each in KEYS[name]]))


@scenario("rabbitmq/sender-selected.array", role=Role.CLIENT)
@broken_by("sends the first of them", sends_headers(CC="one"), Role.CLIENT)
@broken_by("sends them as octets of another type", sends_headers(BCC=[As("s", "three")]), Role.CLIENT)
@broken_by("sends them as one text", sends_headers(CC="one two", BCC="three"), Role.CLIENT)
def client_gives_further_keys_as_arrays_of_strings(client: Client) -> None:
    """Told to publish with lists of texts in CC and in BCC the client sends arrays of strings."""
    connection = client.connection()
    channel = connection.channel()
    headers: dict[str, Any] = {"map": [[name, {"list": keys}] for name, keys in KEYS.items()]}
    told = {"headers": headers}
    publishes = partial(channel.tries_to_publish, "several", key=client.name("queue"), properties=told)
    header = header_sent(connection, publishes)
    client.judge("arrays of strings", "something else", all(as_array(name) in header for name in KEYS))
