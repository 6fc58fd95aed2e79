"""What an assert demands of a field that a client fills: it keeps it, or refuses what would break it."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer, forwards, ignores
from harness.amqp0_9_1.broken.provocations import says_back
from harness.amqp0_9_1.client.outcomes import Observation, Received, closed_silently
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection
from harness.play.expect import Outcome
from harness.play.link import EVERYWHERE
from harness.play.watching import Found, Gaps, State, came, went
from harness.shims.contract import Kind, Refused
from harness.wire.journal import SENT, Direction
from scenarios.amqp0_9_1.grammar.calls import answers_to, kind
from scenarios.amqp0_9_1.grammar.clients.sent import NEVER, occasion
from scenarios.amqp0_9_1.grammar.fields import asserted, breach, breaks, name
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenarios_for, watches_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.rules import Role

PASSED_ON = "1.4.3: an assertion is what has to be true; which side of a client sees to it is not said"


def is_any(_: Subject) -> bool:
    return True


def leaves_it_empty(about: Subject) -> Interposer:
    """Says nothing in the field."""
    empty: dict[str, Any] = {name(about): lambda value: breach(about, value)}
    return forwards(kind(about), **empty)


@watches_for(
    asserted(is_any, "notnull", role=Role.CLIENT),
    during=occasion,
    looks_at=lambda about: came(kind(about)),
    never=NEVER,
    role=Role.CLIENT,
)
@broken_by("leaves it empty", leaves_it_empty, Role.CLIENT)
def client_keeps_the_assert(each: Passage, about: Subject) -> Found:
    """In every such method of the run the client says something in the field."""
    return not breaks(about)(each.said) or f"{each.said.full_name} without {name(about)} at {each.at:.4f} s"


class Proposed(State):
    """What the server has proposed in Tune."""

    def __init__(self) -> None:
        self.channels: int | None = None

    def missed(self, way: Direction) -> None:
        """Forget it: there may have been another."""
        if way is SENT:
            self.channels = None


@watches_for(
    asserted(is_any, "le", role=Role.CLIENT),
    during=lambda _: TALK,
    looks_at=lambda about: came(kind(about)) + went(Connection.Tune),
    start=lambda _: Proposed,
    gap=Gaps.TOLD,
    role=Role.CLIENT,
)
@broken_by("asks for more", forwards(Connection.TuneOk, channel_max=65535), Role.CLIENT)
def client_asks_for_no_more_than_proposed(proposed: Proposed, each: Passage, _: Subject) -> Found:
    """The client agrees to at most the channels that the server proposes."""
    if isinstance(each.said, Connection.Tune):
        proposed.channels = each.said.channel_max
        return None
    if not proposed.channels:
        return None
    asked = each.said.channel_max
    return asked <= proposed.channels or f"{asked} channels of {proposed.channels} at {each.at:.4f} s"


# -- names that break their form -----------------------------------------------------------------------

Ask = Callable[[JudgedChannel, str], object]
"""Has the client do something with a value; what its library refuses comes back as Refused."""


def calls(method: str, field: str, **given: object) -> Ask:
    return lambda channel, value: channel.tries(method, **(given | {field: value}))


def binds(field: str, method: str = "queue.bind") -> Ask:
    named = {"queue": "q", "exchange": "e", "routing_key": "k"}
    return lambda channel, value: channel.tries(method, **(named | {field: value}))


ASKED: Mapping[str, Ask] = {
    "exchange.declare.exchange": calls("exchange.declare", "exchange", type="direct"),
    "exchange.delete.exchange": calls("exchange.delete", "exchange"),
    "queue.declare.queue": calls("queue.declare", "queue"),
    "queue.bind.queue": binds("queue"),
    "queue.bind.exchange": binds("exchange"),
    "queue.unbind.queue": binds("queue", "queue.unbind"),
    "queue.unbind.exchange": binds("exchange", "queue.unbind"),
    "queue.purge.queue": calls("queue.purge", "queue"),
    "queue.delete.queue": calls("queue.delete", "queue"),
    "basic.consume.queue": lambda channel, value: channel.tries_to_receive(value),
    "basic.publish.exchange": lambda channel, value: channel.tries_to_publish("body", value, "key"),
    "basic.get.queue": lambda channel, value: channel.tries_to_get(value),
}
"""How a client is asked for a method with a name in a field."""


def is_named(about: Subject) -> bool:
    return about.full_name in ASKED


def given_on(about: Subject, value: str) -> Outcome:
    """Expect the method with the value as it was given."""

    def matches(seen: Observation) -> bool:
        method = seen.method if isinstance(seen, Received) else None
        return isinstance(method, kind(about)) and getattr(method, name(about)) == value

    return Outcome(f"{kind(about).full_name} with the {name(about)} as given", matches)


def says_another(about: Subject) -> Interposer:
    """Sends another name than the one it was given, of a form that fits."""
    another: dict[str, Any] = {name(about): "another"}
    return forwards(kind(about), when=breaks(about), **another)


@scenarios_for(
    asserted(is_named, "length", "regexp", role=Role.CLIENT),
    role=Role.CLIENT,
)
@broken_by("changes it in silence", says_another, Role.CLIENT)
def client_refuses_a_name_or_gives_it_on(client: Client, about: Subject) -> None:
    """The client is asked for the method with a good name, then with one that breaks the assert.

    It refuses that itself, and sends nothing; or it gives it on as it is.
    """
    connection = client.connection(takes_all(about))
    channel, asks = connection.channel(), ASKED[about.full_name]
    good = client.name("name")
    connection.hear_out()
    asks(channel, good)
    connection.expect(given_on(about, good))
    connection.hear_out()
    wrong = breach(about, good)
    refused = asks(channel, wrong)
    if isinstance(refused, Refused) and refused.kind is Kind.LOCAL and connection.has_sent_nothing():
        client.judge("the client refuses it itself", "", True)
        return
    connection.expect(given_on(about, wrong).recorded(PASSED_ON))


def takes_all(about: Subject) -> Interposer:
    """Answers the method whatever it names: it is the client that is judged."""
    replies = answers_to(kind(about).spec)
    if not replies:
        return ignores(kind(about))
    return says_back(kind(about), lambda it: repeating(replies[-1], it))


def repeating(reply: type[Method], asked: Method) -> Method:
    """Make a reply that says in each field what was asked there; a consumer without a tag gets one."""
    told = [attribute(field.name) for field in reply.fields if not field.reserved]
    same = {each: getattr(asked, each) for each in told if each in asked.names}
    if isinstance(asked, Basic.Consume) and not asked.consumer_tag:
        same["consumer_tag"] = f"tag-of-{asked.queue[-100:]}"
    return reply(**same)


def is_of_open(about: Subject) -> bool:
    return kind(about) is Connection.Open


@scenarios_for(asserted(is_of_open, "length", role=Role.CLIENT), role=Role.CLIENT)
@broken_by("changes it in silence", says_another, Role.CLIENT)
def client_refuses_a_long_virtual_host_or_gives_it_on(client: Client, about: Subject) -> None:
    """The client is asked to open a virtual host, then one with a name that is too long.

    It refuses that itself, before it connects or in place of Open; or it gives it on as it is.
    """
    client.connection()
    control, wrong = client.newest, breach(about, "v")
    refused = client.tries_to_connect(vhost=wrong)
    if isinstance(refused, Refused) and client.newest is control:
        client.judge("the client refuses it itself", "", True)
        return
    client.newest.taken(Connection.TuneOk)
    client.newest.expect(EVERYWHERE, closed_silently(), given_on(about, wrong).recorded(PASSED_ON))
