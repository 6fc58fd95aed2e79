"""What has to be there before a method can be sent, and what shows that it was carried out: one table each.

The rules derived from the grammar ask the same of many methods; here stands what differs between them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.outcomes import Received, closed_silently, code
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.frames import HEADER, METHOD, ContentHeader, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    CODEC,
    NOT_IMPLEMENTED,
    REPLY_SUCCESS,
    Basic,
    Channel,
    Connection,
    Exchange,
    Queue,
    Tx,
)
from harness.play.expect import ControlFailed, Inapplicable, Outcome
from harness.wire.sasl import CHALLENGED, mechanism
from scenarios.amqp0_9_1.tx.common import transacted
from spec.grammar.amqp0_9_1.members import Subject
from spec.grammar.amqp0_9_1.rules import family
from spec.readers.amqp0_9_1 import Method as GrammarMethod
from spec.rules import Role

AT_ONCE = replace(closed_silently(), waits_for_end=False)
"""The socket is closed without a word, and without delay."""

REFUSALS = (Channel.Close, Connection.Close)
BODY = b"content"
KEY = "key"
UNUSED = 500
"""How far from the channels in use those numbers are that nobody opens."""


Part = TypeVar("Part")


def of(key: str, *without: str, role: Role = Role.SERVER) -> Iterator[tuple[str, Subject]]:
    """Give the rules of a family that can be judged on targets in a role, with their subjects.

    `without` are methods or constants that are left out.
    """
    for each in family(key):
        if each.rule.beyond(role):
            continue
        named = each.about.method.full_name if each.about.method else getattr(each.about.constant, "name", "")
        if named not in without:
            yield each.rule.id, each.about


def of_clients(key: str, *without: str) -> Iterator[tuple[str, Subject]]:
    """Give the rules of a family that can be judged on clients, as `of` does."""
    return of(key, *without, role=Role.CLIENT)


def given(part: Part | None) -> Part:
    """Give a part of a rule's subject that its family has."""
    assert part is not None
    return part


def kind(about: Subject) -> type[Method]:
    return CODEC.methods[given(about.method).full_name]


def answers_to(method: GrammarMethod) -> tuple[type[Method], ...]:
    """Give what the grammar names as responses, and recover-ok, the only one that it forgets."""
    names = ("recover-ok",) if method.name == "recover" else method.responses
    return tuple(CODEC.methods[f"{method.class_name}.{name}"] for name in names)


def bits(method: GrammarMethod) -> list[str]:
    """Give by Python name the bits of a method that decide something; no-wait has a family of its own."""
    named = [each for each in method.fields if each.type == "bit" and not each.reserved]
    return [attribute(each.name) for each in named if each.domain != "no-wait"]


@dataclass(frozen=True, slots=True)
class Call:
    """A method that can be sent on channel `number`: all that has to be before it has been done."""

    connection: AmqpConnection
    number: int
    method: Any

    def send(self, method: Method | None = None, *, number: int | None = None) -> None:
        """Send it, or another one in its place, with a content if it carries one; `number` is a channel's."""
        sent = method or self.method
        content = (Basic.Properties(), BODY) if sent.spec.content else ()
        self.connection.link.send(self.number if number is None else number, sent, *content)

    def send_payload(self, payload: bytes) -> None:
        """Send a method frame with any octets in it on its channel."""
        self.connection.send_frames(Frame(METHOD, self.number, payload))

    def expect(self, *outcomes: Outcome | type[Method]) -> Any:
        """Judge what comes next on its channel. Raises Unmet."""
        seen = self.connection.link.expect(self.number, *outcomes)
        return seen.method if isinstance(seen, Received) else seen

    @property
    def channel(self) -> AmqpChannel:
        return AmqpChannel(self.connection, self.number)

    @property
    def queue(self) -> str:
        """The queue that was declared last."""
        return next(name for kind_, name in reversed(self.connection.context.declared) if kind_ == "queue")

    def succeeds(self) -> None:
        """Send it and make sure that it is carried out. Raises ControlFailed."""
        self.send()
        spec = self.method.spec
        if spec.class_name == "connection":
            self.connection.control(spec.full_name, *(answers_to(spec) or _next_step(self)))
        elif isinstance(self.method, Channel.CloseOk):
            self.channel.ask(Channel.Open())  # the channel is free again
        elif not answers_to(spec):
            self.channel.fence()
        else:
            answer = self.channel.control(spec.full_name, *answers_to(spec), *REFUSALS)
            if getattr(answer, "reply_code", None) == NOT_IMPLEMENTED:
                raise Inapplicable(f"the server does not implement {spec.full_name}")
            if isinstance(answer, REFUSALS):
                raise ControlFailed(spec.full_name, f"{answer.full_name} {code(answer.reply_code)}")


def _next_step(call: Call) -> tuple[type[Method], ...]:
    """Wait for what the server says next in the handshake, where no response to a method is named."""
    if isinstance(call.method, Connection.TuneOk):
        call.connection.send(Connection.Open(call.connection.endpoint.virtual_host))
        return (Connection.OpenOk,)
    return (Connection.Tune, Connection.Secure)


def ready(broker: Broker, about: Subject, names: str = "{}", *, probed: bool = True) -> Call:
    """Give the method a rule is about, ready to be sent; `names` is the pattern of what is named for it.

    A method that servers may leave out is looked for first, if `probed`: without it the rule is inapplicable.
    """
    name = kind(about).full_name
    if probed and name in PROBES:
        PROBES[name](broker)
    if make := HANDSHAKE.get(name):
        connection, made = make(broker)
        return Call(connection, 0, made)
    if name == "channel.open":
        return Call(broker.connection(), 1, Channel.Open())
    channel = broker.channel()
    return Call(channel.connection, channel.number, PREPARED[name](channel, names))


def again(broker: Broker, about: Subject, names: str = "{}") -> Call:
    """Carry the method out, and give it ready to be sent once more. Raises ControlFailed."""
    ready(broker, about, names).succeeds()
    return ready(broker, about, names)


def works(broker: Broker) -> None:
    """Make sure that the server does what it says: it finds what was declared, and nothing else."""
    channel = broker.channel(new_connection=True)
    channel.depth(channel.declare_queue())
    channel.misses("queue")


# -- the handshake -------------------------------------------------------------------------------------


def _start_ok(broker: Broker) -> tuple[AmqpConnection, Method]:
    connection = broker.started()
    return connection, connection.start_ok()


def _secure_ok(broker: Broker) -> tuple[AmqpConnection, Method]:
    connection, challenged = broker.started(), mechanism(CHALLENGED)
    said = connection.start_ok()
    if CHALLENGED in bytes(connection.start.mechanisms).decode(errors="replace").split(" "):
        said = said.replace(mechanism=CHALLENGED, response=challenged.response(*user_of(connection)))
        connection.send(said)
    else:
        connection.send(said.replace(response=b""))
    if not isinstance(connection.link.coming(0, connection.context.patience.close), Connection.Secure):
        broker.inapplicable("the server never asks for credentials with Secure")
    connection.control("connection.start-ok", Connection.Secure)
    return connection, connection.secure_ok(said)


def user_of(connection: AmqpConnection) -> tuple[str, str]:
    """Say who logs in, and with which password."""
    return connection.endpoint.user, connection.endpoint.password


def _tune_ok(broker: Broker) -> tuple[AmqpConnection, Method]:
    connection = broker.tuned()
    return connection, connection.tune_ok()


def _open(broker: Broker) -> tuple[AmqpConnection, Method]:
    connection, tune_ok = _tune_ok(broker)
    connection.send(tune_ok)
    return connection, Connection.Open(connection.endpoint.virtual_host)


def _close(broker: Broker) -> tuple[AmqpConnection, Method]:
    return broker.connection(), Connection.Close(REPLY_SUCCESS, "done")


def _close_ok(broker: Broker) -> tuple[AmqpConnection, Method]:
    connection = broker.connection()
    header = ContentHeader(Basic.Publish.spec.class_index, 0, Basic.Properties())
    connection.send_frames(Frame(HEADER, connection.channel().number, header.encode()))
    connection.control("a content header without a method", Connection.Close)
    return connection, Connection.CloseOk()


HANDSHAKE: Mapping[str, Callable[[Broker], tuple[AmqpConnection, Method]]] = {
    "connection.start-ok": _start_ok,
    "connection.secure-ok": _secure_ok,
    "connection.tune-ok": _tune_ok,
    "connection.open": _open,
    "connection.close": _close,
    "connection.close-ok": _close_ok,
}
"""A connection on which a method of the connection class is due, and that method."""


# -- channels ------------------------------------------------------------------------------------------


def _name(channel: AmqpChannel, kind_: str, names: str) -> str:
    link = channel.connection.link
    return channel.context.name(kind_, link.name, link.now(), names)


def _queue(channel: AmqpChannel, names: str) -> str:
    return channel.declare_queue(_name(channel, "queue", names))


def _exchange(channel: AmqpChannel, names: str) -> str:
    name = _name(channel, "exchange", names)
    channel.ask(Exchange.Declare(name, "direct"))
    return name


def _filled(channel: AmqpChannel, names: str) -> str:
    queue = _queue(channel, names)
    channel.publish(BODY, key=queue)
    channel.fence()
    return queue


def _bound(channel: AmqpChannel, names: str) -> Queue.Unbind:
    queue, exchange = _queue(channel, names), _exchange(channel, names)
    channel.bind(queue, exchange, KEY)
    return Queue.Unbind(queue, exchange, KEY)


def _publish(channel: AmqpChannel, names: str) -> Basic.Publish:
    exchange = _exchange(channel, names)
    channel.bind(_queue(channel, "{}"), exchange, KEY)
    return Basic.Publish(exchange, KEY)


def _tag(channel: AmqpChannel) -> int:
    channel.send(Basic.Get(_filled(channel, "{}")))
    return int(channel.control("basic.get", Basic.GetOk).delivery_tag)


def _channel_close_ok(channel: AmqpChannel, _: str) -> Channel.CloseOk:
    channel.ask(Queue.Declare(channel.new_name("queue"), passive=True), Channel.Close)
    return Channel.CloseOk()


def _selected(channel: AmqpChannel, made: Method) -> Method:
    channel.ask(Tx.Select())
    return made


def _unacknowledged(channel: AmqpChannel, made: Method) -> Method:
    _tag(channel)
    return made


def _recovers(broker: Broker) -> None:
    """End the scenario where Recover-Async, which a server only MAY implement, is not."""
    channel = broker.channel(new_connection=True)
    channel.send(Basic.RecoverAsync(requeue=True))
    # Twice: a Close of the connection may come between the answers.
    for _ in range(2):
        channel.send(FENCE)
        answer = channel.control("basic.recover-async", Exchange.DeclareOk, Channel.Close, Connection.Close)
        if getattr(answer, "reply_code", None) == NOT_IMPLEMENTED:
            broker.inapplicable("the server does not implement basic.recover-async")


PROBES: Mapping[str, Callable[[Broker], object]] = {
    "basic.recover-async": _recovers,
    "tx.select": transacted,
    "tx.commit": transacted,
    "tx.rollback": transacted,
}
"""What shows that the server has a method which is only a SHOULD or a MAY for it."""

PREPARED: Mapping[str, Callable[[AmqpChannel, str], Method]] = {
    "channel.flow": lambda _channel, _: Channel.Flow(active=True),
    "channel.close": lambda _channel, _: Channel.Close(REPLY_SUCCESS, "done"),
    "channel.close-ok": _channel_close_ok,
    "exchange.declare": lambda channel, names: Exchange.Declare(_name(channel, "exchange", names), "direct"),
    "exchange.delete": lambda channel, names: Exchange.Delete(_exchange(channel, names)),
    "queue.declare": lambda channel, names: Queue.Declare(_name(channel, "queue", names)),
    "queue.bind": lambda channel, names: Queue.Bind(_queue(channel, names), _exchange(channel, names), KEY),
    "queue.unbind": _bound,
    "queue.purge": lambda channel, names: Queue.Purge(_filled(channel, names)),
    "queue.delete": lambda channel, names: Queue.Delete(_queue(channel, names)),
    "basic.qos": lambda _channel, _: Basic.Qos(prefetch_count=1),
    "basic.consume": lambda channel, names: Basic.Consume(_queue(channel, names), "tag", no_ack=True),
    "basic.cancel": lambda channel, names: Basic.Cancel(channel.consume(_queue(channel, names))),
    "basic.publish": _publish,
    "basic.get": lambda channel, names: Basic.Get(_filled(channel, names), no_ack=True),
    "basic.ack": lambda channel, _: Basic.Ack(_tag(channel)),
    "basic.reject": lambda channel, _: Basic.Reject(_tag(channel), requeue=False),
    "basic.recover-async": lambda channel, _: _unacknowledged(channel, Basic.RecoverAsync(requeue=True)),
    "basic.recover": lambda channel, _: _unacknowledged(channel, Basic.Recover(requeue=True)),
    "tx.select": lambda _channel, _: Tx.Select(),
    "tx.commit": lambda channel, _: _selected(channel, Tx.Commit()),
    "tx.rollback": lambda channel, _: _selected(channel, Tx.Rollback()),
}
"""Each method a server serves on an open channel, after what has to be there before it."""

PASSIVE = "passive"
"""The bit that asks for what is there already."""

SET: Mapping[str, tuple[str, ...]] = {
    "channel.flow": ("active",),
    "basic.consume": ("no_ack",),
    "basic.get": ("no_ack",),
}
"""The bits that are set in what stands in PREPARED."""
