"""Methods that a server sends: a client that implements them goes on as each of them wants."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.amqp0_9_1.broken.deviations import Interposer, ignores, rejects, rewrites, withholds
from harness.amqp0_9_1.broken.provocations import follows
from harness.amqp0_9_1.client.outcomes import answered, closed_silently
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.server.leniency import LENIENT
from harness.amqp0_9_1.wire.vocabulary import CONNECTION_FORCED, Basic, Channel, Connection, Queue
from harness.shims.contract import Refused
from scenarios.amqp0_9_1.grammar.calls import kind, of_clients
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.rules import Role

SECURE = replace(LENIENT, sasl="secure")
"""A server that asks for the response by Secure, whatever Start-Ok said."""
ASKED: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "channel.flow-ok": ("channel.flow", {"active": True}),
    "exchange.declare-ok": ("exchange.declare", {"exchange": "{}", "type": "direct"}),
    "exchange.delete-ok": ("exchange.delete", {"exchange": "{exchange}"}),
    "queue.declare-ok": ("queue.declare", {"queue": "{}"}),
    "queue.bind-ok": ("queue.bind", {"queue": "{queue}", "exchange": "{exchange}", "routing-key": "other"}),
    "queue.unbind-ok": ("queue.unbind", {"queue": "{queue}", "exchange": "{exchange}", "routing-key": "key"}),
    "queue.purge-ok": ("queue.purge", {"queue": "{queue}"}),
    "queue.delete-ok": ("queue.delete", {"queue": "{queue}"}),
    "basic.qos-ok": ("basic.qos", {"prefetch-count": 1}),
    "basic.recover-ok": ("basic.recover", {"requeue": True}),
    "tx.select-ok": ("tx.select", {}),
}
"""What a client is asked for to be sent a reply, with names to be filled in."""


def goes_on(client: Client, refused: object) -> None:
    """Judge that the client took what came for what it is."""
    why = refused.told if isinstance(refused, Refused) else ""
    client.judge("the client goes on", why, not isinstance(refused, Refused))


def is_told(client: Client, what: str, there: object) -> None:
    client.judge(f"{what} is told", f"no {what} is told", bool(there))


def prepared(client: Client) -> tuple[JudgedChannel, Mapping[str, str]]:
    """Give a channel of the client's with a queue bound to an exchange, and their names."""
    channel = client.connection().channel()
    names = {"queue": client.name("queue"), "exchange": client.name("exchange")}
    channel.declares(names["queue"])
    channel.declares_exchange(names["exchange"])
    channel.call("queue.bind", **names, routing_key="key")
    return channel, names


def gets_the_reply(client: Client, about: Subject) -> None:
    method, args = ASKED[kind(about).full_name]
    channel, names = prepared(client)
    filled = {
        name: value.format(client.name("new"), **names) if isinstance(value, str) else value
        for name, value in args.items()
    }
    goes_on(client, channel.tries(method, **filled))


def commits(client: Client, about: Subject) -> None:
    channel, *_ = prepared(client)
    channel.call("tx.select")
    goes_on(client, channel.tries(kind(about).full_name.removesuffix("-ok")))


def connects(client: Client, _: Subject) -> None:
    goes_on(client, client.connecting().refused)


def answers_a_challenge(client: Client, _: Subject) -> None:
    """Ask for the response by Secure: Secure-Ok comes, and the connection is opened."""
    connection = client.connecting(policy=SECURE)
    connection.came(Connection.StartOk)
    connection.expect(replace(answered(Connection.SecureOk), waits_for_end=True))
    goes_on(client, connection.refused)


def opens(client: Client, _: Subject) -> None:
    goes_on(client, client.connection().tries_channel())


def is_closed(client: Client, _: Subject) -> None:
    """Refuse a Purge by Close of the connection: Close-Ok comes, then the end."""
    connection = client.connection(rejects(Queue.Purge, CONNECTION_FORCED))
    connection.channel().attempt("queue.purge", queue="any")
    connection.expect(Connection.CloseOk)


def has_its_channel_closed(client: Client, _: Subject) -> None:
    connection = client.connection()
    connection.channel().attempt("queue.declare", queue=client.name("missing"), passive=True)
    connection.expect(Channel.CloseOk)


def closes_the_connection(client: Client, _: Subject) -> None:
    connection = client.connection()
    connection.hear_out()
    connection.closes()
    connection.expect(Connection.Close)
    connection.expect(closed_silently())


def closes_a_channel(client: Client, _about: Subject) -> None:
    channel, *_ = prepared(client)
    goes_on(client, channel.closes())


def answers_flow(client: Client, _: Subject) -> None:
    """Say Flow behind an answer: Flow-Ok comes."""
    connection = client.connection(follows(Queue.PurgeOk, Channel.Flow(True)))
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    channel.call("queue.purge", queue=queue)
    connection.expect(Channel.FlowOk)


def starts_a_consumer(client: Client, _: Subject) -> None:
    channel, names = prepared(client)
    goes_on(client, channel.tries_to_receive(names["queue"]))


def ends_a_consumer(client: Client, _: Subject) -> None:
    channel, names = prepared(client)
    tag = channel.receive(names["queue"])
    goes_on(client, client.attempted("stop", on=channel.on, tag=tag))


def gets_a_return(client: Client, _about: Subject) -> None:
    """Return a mandatory message: it is told, where the library tells any; the channel goes on."""
    channel, *_ = prepared(client)
    channel.publish("unroutable", key=client.name("nobody"), mandatory=True)
    if not channel.connection.tells("returned"):
        client.note("the library tells of no returned message")
    goes_on(client, channel.tries("queue.declare", queue=client.name("queue")))


def is_delivered(client: Client, _: Subject) -> None:
    channel, names = prepared(client)
    channel.receive(names["queue"])
    channel.publish("delivered", key=names["queue"])
    is_told(client, "the message", channel.messages(1))


def gets(client: Client, _: Subject) -> None:
    channel, names = prepared(client)
    channel.publish("got", key=names["queue"])
    got = channel.tries_to_get(names["queue"])
    goes_on(client, got)
    is_told(client, "the message", got)


def finds_it_empty(client: Client, _: Subject) -> None:
    channel, names = prepared(client)
    got = channel.tries_to_get(names["queue"])
    goes_on(client, got)
    client.judge("no message is told", "a message is told", got is None)


TRIED: Mapping[str, Callable[[Client, Subject], None]] = {
    "connection.start": connects,
    "connection.secure": answers_a_challenge,
    "connection.tune": connects,
    "connection.open-ok": connects,
    "connection.close": is_closed,
    "connection.close-ok": closes_the_connection,
    "channel.open-ok": opens,
    "channel.flow": answers_flow,
    "channel.close": has_its_channel_closed,
    "channel.close-ok": closes_a_channel,
    "basic.consume-ok": starts_a_consumer,
    "basic.cancel-ok": ends_a_consumer,
    "basic.return": gets_a_return,
    "basic.deliver": is_delivered,
    "basic.get-ok": gets,
    "basic.get-empty": finds_it_empty,
    "tx.commit-ok": commits,
    "tx.rollback-ok": commits,
    **dict.fromkeys(ASKED, gets_the_reply),
}
"""How a client comes to be sent each method, and what shows that it took it."""
HEARD = {
    "connection.close": ignores(Connection.CloseOk),
    "channel.close": ignores(Channel.CloseOk),
    "channel.flow": ignores(Channel.FlowOk),
    "connection.secure": ignores(Connection.SecureOk),
    "connection.close-ok": ignores(Connection.Close),
    "basic.return": rewrites(Basic.Return, exchange="x") + rejects(Queue.Declare, 540, skip=1),
    "basic.get-empty": withholds(Basic.GetEmpty),
}
"""How a client looks that does not hear a method, where that is not by its getting none."""
TWICE = ("exchange.declare-ok", "queue.declare-ok", "queue.bind-ok")
"""What a client is sent once before it is judged by the second."""


def is_deaf_to_it(about: Subject) -> Interposer:
    named = kind(about).full_name
    return HEARD.get(named) or withholds(kind(about), skip=int(named in TWICE))


@scenarios_for(of_clients("client"), role=Role.CLIENT)
@broken_by("is deaf to it", is_deaf_to_it, Role.CLIENT)
def client_implements_what_it_is_sent(client: Client, about: Subject) -> None:
    """The client is brought to be sent the method, and goes on as it wants."""
    TRIED[kind(about).full_name](client, about)
