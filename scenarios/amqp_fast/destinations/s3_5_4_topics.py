"""3.5.4 HANDLE CONSUME Command: of topics, and selectors."""

from collections.abc import Mapping

from harness.amqp_fast.broken.deviations import Fault, hears, withholds
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import message
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.entities import Message
from harness.amqp_fast.peer.tables import receiving
from harness.amqp_fast.wire.vocabulary import TOPIC, Handle, MessageHead
from scenarios.amqp_fast.destinations.common import HEAD
from scenarios.registry import broken_by, scenario

UNIMPLEMENTED = "1088: selectors are unimplemented, so that all messages come"
CONSUMES = "handle consume: is done"


def tells(handle: FastHandle, topic: str, *bodies: bytes, **head: object) -> None:
    """Send messages to a topic. Raises ControlFailed."""
    handle.publish(topic, *bodies, service=TOPIC, **head)


def subscriber(server: Server, topic: str, *, new_connection: bool = False, **fields: object) -> FastHandle:
    """Give a handle that subscribes to a topic. Raises ControlFailed."""
    handle = server.handle(new_connection=new_connection)
    return handle.consume(topic, service_type=TOPIC, **fields)


@scenario("fast/3.5.4.no-local-not-received")
@broken_by("sends it", hears(Handle.Consume, no_local=False))
@broken_by("sends nothing", withholds(Handle.Notify))
def no_local_keeps_back_what_is_local(server: Server) -> None:
    """With no-local only the message of another connection comes."""
    topic, sender = server.topic(), server.handle()
    handle = subscriber(server, topic, no_local=True)
    tells(sender, topic, b"local")
    tells(server.handle(new_connection=True), topic, b"from elsewhere")
    handle.hears(b"from elsewhere")


@scenario("fast/3.5.4.local-without-no-local")
@broken_by("keeps it back", hears(Handle.Consume, no_local=True))
def local_messages_come(server: Server) -> None:
    """Without no-local a message of the same connection comes."""
    topic, sender = server.topic(), server.handle()
    handle = subscriber(server, topic)
    tells(sender, topic, b"local")
    handle.hears(b"local")


def _selected(server: Server, selector: Mapping[str, bytes], *wanted: bytes) -> None:
    """Judge which of three messages with a field, both, and the other one are selected, or that all are."""
    topic, sender = server.topic(), server.handle()
    handle = subscriber(server, topic, selector=selector)
    sent: dict[bytes, Mapping[str, bytes]] = {
        b"one": {"COLOUR": b"red"},
        b"both": {"COLOUR": b"blue", "SIZE": b"large"},
        b"other": {"SIZE": b"large"},
    }
    for body, headers in sent.items():
        tells(sender, topic, body, headers=headers)
    tells(sender, topic, b"last", headers=sent[b"both"])
    every = [*sent, b"last"]
    for place, body in enumerate([*wanted, b"last"]):
        seen = handle.observe(message(body), message(every[place]).recorded(UNIMPLEMENTED))
        if seen.body != body:
            handle.hears(*every[place + 1 :])
            return


@scenario("fast/3.5.4.selector-empty-means-present")
@broken_by(
    "wants the value",
    Fault.swaps(
        selects=lambda selector, it: all(
            it.head.headers.get(name) == value for name, value in selector.items()
        )
    ),
)
@broken_by(
    "wants anything else",
    Fault.swaps(selects=lambda selector, it: not any(name in it.head.headers for name in selector)),
)
def selector_without_value_wants_the_field(server: Server) -> None:
    """Of three messages the two come that have the field, whatever its value."""
    _selected(server, {"SIZE": b""}, b"both", b"other")


@scenario("fast/3.5.4.selector-value")
@broken_by(
    "looks for the field alone",
    Fault.swaps(
        selects=lambda selector, it: all(
            name in it.head.headers and it.head.headers[name] != value for name, value in selector.items()
        )
    ),
)
def selector_with_value_wants_it(server: Server) -> None:
    """Of three messages the one comes that has the value."""
    _selected(server, {"COLOUR": b"blue"}, b"both")


@scenario("fast/3.5.4.selector-all-fields")
@broken_by(
    "wants none of them",
    Fault.swaps(
        selects=lambda selector, it: (
            not all(name in it.head.headers for name in selector) and "COLOUR" not in it.head.headers
        )
    ),
)
def selector_wants_all_its_fields(server: Server) -> None:
    """Of three messages the one comes that has both fields."""
    _selected(server, {"COLOUR": b"", "SIZE": b"large"}, b"both")


@scenario("fast/3.5.4.subscribes-to-a-topic")
@broken_by("sends nothing", withholds(Handle.Notify))
@broken_by("takes it for a queue", hears(Handle.Consume, service_type=1, dynamic=True))
def topic_gives_what_comes_later(server: Server) -> None:
    """Of two messages the one comes that was sent behind the subscription."""
    topic, sender = server.topic(), server.handle()
    tells(sender, topic, b"before")
    handle = subscriber(server, topic)
    sender.send(*sender.carries(topic, b"behind", service=TOPIC))
    handle.hears(b"behind")


@scenario("fast/3.5.4.subscription-per-consumer")
@broken_by("gives it to one", withholds(Handle.Notify, lambda it: it.handle_id != 1))
def every_subscription_gets_each_message(server: Server) -> None:
    """Two subscribers on two connections get the same message."""
    topic = server.topic()
    first, other = subscriber(server, topic, new_connection=True), subscriber(server, topic)
    third = subscriber(server, topic, new_connection=True)
    tells(server.handle(), topic, b"for all")
    for each in (first, other, third):
        each.hears(b"for all")


def _replays(turn: AnyTurn) -> None:
    """Give who subscribes what was sent to the topic before: what an old subscription left."""
    receiving.consume(turn)
    made = turn.handle.consumers[-1]
    made.queue.store(Message(HEAD, MessageHead(), b"", 0))


def _ended(server: Server, topic: str) -> None:
    """Judge that a new subscriber gets nothing of what was sent before it."""
    again = subscriber(server, topic)
    tells(server.handle(), topic, b"new")
    again.hears(b"new")


@scenario("fast/3.5.4.subscription-ends-with-handle")
@broken_by("goes on", Fault.changes(CONSUMES, _replays))
def subscription_ends_with_its_handle(server: Server) -> None:
    """When the handle is closed nothing of the topic comes, then or later."""
    topic = server.topic()
    first = subscriber(server, topic)
    first.close()
    tells(server.handle(), topic, b"missed")
    first.channel.stays_quiet()
    _ended(server, topic)


@scenario("fast/3.5.4.subscription-ends-with-channel")
@broken_by("goes on", Fault.changes(CONSUMES, _replays))
def subscription_ends_with_its_channel(server: Server) -> None:
    """When the channel is closed nothing of the topic comes, then or later."""
    topic = server.topic()
    first = subscriber(server, topic)
    first.channel.close()
    tells(server.handle(), topic, b"missed")
    first.channel.got_nothing()
    _ended(server, topic)


@scenario("fast/3.5.4.subscription-ends-with-connection")
@broken_by("goes on", Fault.changes(CONSUMES, _replays))
def subscription_ends_with_its_connection(server: Server) -> None:
    """When the connection is closed a client of the same name gets nothing of what was sent meanwhile."""
    topic = server.topic()
    first = subscriber(server, topic, new_connection=True)
    name = first.connection.own
    first.connection.close()
    tells(server.handle(new_connection=True), topic, b"missed")
    again = server.connection(client_name=name).channel().handle().consume(topic, service_type=TOPIC)
    tells(server.handle(new_connection=True), topic, b"new")
    again.observe(
        message(b"new"), message(b"missed").recorded("1110: persistent subscriptions of the client")
    )
