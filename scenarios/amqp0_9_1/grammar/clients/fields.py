"""What a client makes of the fields of methods: it tells them as they came, and repeats what it has to."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer, forwards, ignores, rewrites
from harness.amqp0_9_1.broken.provocations import follows
from harness.amqp0_9_1.client.outcomes import Received, fields
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.server.told import Message, plain
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue
from harness.play.expect import Inapplicable
from harness.shims.contract import Refused
from scenarios.amqp0_9_1.getting import TEXT, content, getting, got, headed
from scenarios.amqp0_9_1.grammar.calls import given, kind, of_clients
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.rules import Role

BODY = TEXT.decode()
MADE_UP: Mapping[str, Any] = {
    "queue": "amq.gen-made-up",
    "message-count": (1 << 32) - 1,
    "consumer-count": (1 << 31) + 1,
    "consumer-tag": "amq.ctag-made-up",
    "reply-code": 313,
    "reply-text": "made up",
    "exchange": "made-up-exchange",
    "routing-key": "made.up",
    "redelivered": True,
}
"""By the name of a field what no client could guess."""
TOLD_AS = {"reply-code": "code", "reply-text": "text", "routing-key": "key", "consumer-tag": "tag"}
"""What the contract of shims calls a field of a message."""


def name(about: Subject) -> str:
    return given(about.field).name


def says_it(about: Subject) -> Interposer:
    made_up: dict[str, Any] = {attribute(name(about)): MADE_UP[name(about)]}
    return rewrites(kind(about), **made_up)


def is_told(client: Client, about: Subject, told: Mapping[str, Any], expected: Any = None) -> None:
    """Judge the field among all that the client tells; where it tells none there is nothing to judge."""
    field = name(about)
    seen = told.get(TOLD_AS.get(field, field), told.get(field))
    if seen is None:
        raise Inapplicable(f"the library does not tell {field}")
    right = bool(plain(seen) == (MADE_UP[field] if expected is None else expected))
    client.judge(f"{field} is told as it came", "another is told", right)


# -- told ----------------------------------------------------------------------------------------------


def of_a_reply(client: Client, about: Subject) -> None:
    channel, queue = client.connection(says_it(about)).channel(), client.name("queue")
    method = kind(about).full_name.removesuffix("-ok")
    if method == "queue.declare":
        queue = ""
    else:
        channel.declares(queue)
    told = channel.tries(method, queue=queue)
    refused = told.told if isinstance(told, Refused) else ""
    client.judge("the reply is taken", refused, not refused)
    is_told(client, about, {} if isinstance(told, Refused) else told)


def of_a_consumer(client: Client, about: Subject) -> None:
    """Give a consumer another tag; nothing is delivered to it."""
    connection = client.connection(says_it(about))
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    tag = channel.receive(queue)
    asked = [said for said in map(readable, connection.link.received()) if isinstance(said, Basic.Consume)]
    if any(each.consumer_tag for each in asked):
        raise Inapplicable("the library makes tags by itself")
    is_told(client, about, {"tag": tag})


def of_a_return(client: Client, about: Subject) -> None:
    channel = client.connection(says_it(about)).channel()
    channel.publish(BODY, key=client.name("nobody"), mandatory=True)
    returned = channel.connection.tells("returned")
    if not returned:
        raise Inapplicable("the library tells of no returned message")
    is_told(client, about, {**returned[0].told["message"], **returned[0].told})


def of_a_delivery(client: Client, about: Subject) -> None:
    is_tag = name(about) == "consumer-tag"
    channel = client.connection(*(() if is_tag else (says_it(about),))).channel()
    queue = client.name("queue")
    channel.declares(queue)
    tag = channel.receive(queue)
    channel.publish(BODY, key=queue)
    told = channel.connection.tells("message")
    client.judge("the message is told", "none is told", bool(told))
    everything = {
        **told[0].told["message"],
        **{key: told[0].told[key] for key in told[0].told if key == "tag"},
    }
    is_told(client, about, everything, tag if is_tag else None)


def of_what_is_got(client: Client, about: Subject) -> None:
    made_up: dict[str, Any] = {attribute(name(about)): MADE_UP[name(about)]}
    channel, queue = getting(client, content(headed(), TEXT, method=Basic.GetOk(1, **made_up)))
    if message := got(channel, queue):
        told = {"redelivered": message.redelivered, "exchange": message.exchange, "key": message.key}
        is_told(client, about, told)


TRIED: Mapping[str, Callable[[Client, Subject], None]] = {
    "queue.declare-ok": of_a_reply,
    "queue.purge-ok": of_a_reply,
    "queue.delete-ok": of_a_reply,
    "basic.consume-ok": of_a_consumer,
    "basic.return": of_a_return,
    "basic.deliver": of_a_delivery,
    "basic.get-ok": of_what_is_got,
}
"""How a client comes to be sent each method."""


def another(value: Any) -> Any:
    return not value if isinstance(value, bool) else value ^ 1 if isinstance(value, int) else value + "x"


def tells_another(about: Subject) -> Interposer:
    changed: dict[str, Any] = {attribute(name(about)): another}
    return rewrites(kind(about), **changed)


@scenarios_for(of_clients("field-told"), role=Role.CLIENT)
@broken_by("tells another", tells_another, Role.CLIENT)
def client_tells_a_field_as_it_came(client: Client, about: Subject) -> None:
    """The client is sent the method with a value that it could not guess: it tells that."""
    TRIED[kind(about).full_name](client, about)


# -- repeated ------------------------------------------------------------------------------------------

TAGS = (1, (1 << 53) + 1, (1 << 63) + 1)


def settles(outcome: str) -> Callable[[Client, type[Any]], None]:
    def try_it(client: Client, method: type[Any]) -> None:
        said = (content(headed(), TEXT, method=Basic.GetOk(tag, routing_key="made-up")) for tag in TAGS)
        channel, queue = getting(client, *said, meets=(ignores(method),))
        for tag in TAGS:
            message = channel.tries_to_get(queue, settled=False)
            client.judge("the message is got", "none is told", isinstance(message, Message))
            channel.connection.came(Basic.Get)
            if isinstance(message, Message):
                channel.tries_to_settle(message, outcome)
                channel.connection.expect(fields(method, delivery_tag=tag))

    return try_it


def confirms_flow(client: Client, method: type[Any]) -> None:
    """Say each Flow on a connection of its own: in which order two are answered is another rule's."""
    for active in (False, True):
        flow = follows(Queue.PurgeOk, Channel.Flow(active))
        channel, queue = client.connection(flow, ignores(method)).channel(), client.name("queue")
        channel.declares(queue)
        channel.call("queue.purge", queue=queue)
        channel.connection.expect(fields(method, active=active))


def confirmed_tag(channel: JudgedChannel) -> str:
    said = (readable(each.unit) for each in channel.connection.link.transcript)
    return next(each.consumer_tag for each in said if isinstance(each, Basic.ConsumeOk))


def cancels(client: Client, method: type[Any]) -> None:
    channel, queue = client.connection().channel(), client.name("queue")
    channel.declares(queue)
    tag = channel.receive(queue)
    client.attempted("stop", on=channel.on, tag=tag)
    seen = channel.connection.expect(method)
    said = seen.method.consumer_tag if isinstance(seen, Received) else ""
    client.judge("the tag that was confirmed", "another tag", said == confirmed_tag(channel))


REPEATED: Mapping[str, Callable[[Client, type[Any]], None]] = {
    "channel.flow-ok": confirms_flow,
    "basic.ack": settles("accept"),
    "basic.reject": settles("reject"),
    "basic.cancel": cancels,
}
"""How a client comes to send each method."""


def says_another(about: Subject) -> Interposer:
    changed: dict[str, Any] = {attribute(name(about)): another}
    return forwards(kind(about), **changed)


@scenarios_for(of_clients("field-repeated"), role=Role.CLIENT)
@broken_by("says another", says_another, Role.CLIENT)
def client_repeats_what_it_was_told(client: Client, about: Subject) -> None:
    """The client is brought to send the method: the field says what the server said."""
    REPEATED[kind(about).full_name](client, kind(about))
