"""4.2.5.5: field tables, their names and what is special about some of their values."""

from collections.abc import Callable
from decimal import Decimal

from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import Interposer, drops, forwards, mends, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Silence, channel_closed, connection_closed, message
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.wire.field_names import LONGEST, begins_well, goes_on_well, names
from harness.amqp0_9_1.wire.field_tables import Table
from harness.amqp0_9_1.wire.frames import HEADER, ContentHeader, Frame
from harness.amqp0_9_1.wire.vocabulary import COMMAND_INVALID, SYNTAX_ERROR, Basic, Connection, Queue
from harness.play.expect import Outcome
from harness.play.watching import Found, came
from scenarios.amqp0_9_1.talk import TALK
from scenarios.amqp0_9_1.three_ways import ThreeWays
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

TEXT = b"with a table"
NO_NAMES = "the properties of the server are empty"


def of_properties(start: Passage, properties: Table, is_well: Callable[[str], bool]) -> Found:
    """Say whether every field name of these properties, those in tables within too, is well."""
    said = list(names(properties))
    wrong = [each for each in said if not is_well(each)]
    if wrong:
        return f"illegal field names {', '.join(map(repr, wrong))} at {start.at:.4f} s"
    return True if said else None


def with_names(*added: str) -> Interposer:
    """Has these names in a table within its properties."""
    abilities = {"abilities": dict.fromkeys(added, True)}
    return rewrites(Connection.Start, server_properties=lambda told: {**told, **abilities})


@watch(
    "0-9-1/prose/4.2.5.5.own-field-names-legal",
    during="0-9-1/connection.start.locales.required-support",
    looks_at=came(Connection.Start),
    never=NO_NAMES,
)
@broken_by("begins a name in a table within with a digit", with_names("1st"))
@broken_by("begins a name with a hyphen", with_names("-x"))
@broken_by("has a name that is empty", with_names(""))
def server_properties_begin_as_they_must(each: Passage) -> Found:
    """Every field name of the server's properties begins with a letter, $ or #."""
    return of_properties(each, each.said.server_properties, begins_well)


@watch(
    "0-9-1/prose/4.2.5.5.own-field-names-go-on",
    during="0-9-1/connection.start.locales.required-support",
    looks_at=came(Connection.Start),
    never=NO_NAMES,
)
@broken_by("has a dot in a name", with_names("build.number"))
@broken_by("has a hyphen in a name", with_names("build-number"))
@broken_by("has a name that is too long", with_names("x" * (LONGEST + 1)))
def server_properties_go_on_as_they_may(each: Passage) -> Found:
    """Behind its first character every field name of the server's properties goes on as it may.

    It has 128 characters at most.
    """
    return of_properties(each, each.said.server_properties, goes_on_well)


def with_property(name: str) -> Interposer:
    """Has another name among the client's properties."""
    return forwards(Connection.StartOk, client_properties=lambda told: {**told, name: True})


@watch(
    "0-9-1/prose/4.2.5.5.own-field-names-legal",
    during=TALK,
    looks_at=came(Connection.StartOk),
    role=Role.CLIENT,
)
@broken_by("begins a name with a digit", with_property("1st"), Role.CLIENT)
def client_properties_begin_as_they_must(each: Passage) -> Found:
    """Every field name of the client's properties begins with a letter, $ or #."""
    return of_properties(each, each.said.client_properties, begins_well)


@watch(
    "0-9-1/prose/4.2.5.5.own-field-names-go-on",
    during=TALK,
    looks_at=came(Connection.StartOk),
    role=Role.CLIENT,
)
@broken_by("has a dot in a name", with_property("basic.nack"), Role.CLIENT)
def client_properties_go_on_as_they_may(each: Passage) -> Found:
    """Behind its first character every field name of the client's properties goes on as it may."""
    return of_properties(each, each.said.client_properties, goes_on_well)


@scenario("0-9-1/prose/4.2.5.5.field-names-validated")
@broken_by("takes any name", forwards(Queue.Bind, lambda sent: "1a" in sent.arguments, arguments={}))
@broken_by("does not answer", drops("method: refuses illegal field names"))
@broken_by(
    "takes names of any length",
    forwards(Queue.Bind, when=lambda sent: any(len(name) > LONGEST for name in sent.arguments), arguments={}),
)
def illegal_field_name_is_refused(broker: Broker) -> None:
    """An argument called a1 is taken, one called 1a and one with a name of 129 letters end the connection.

    With 503 or with 502, which is syntax error. The arguments are those of Bind: of Declare a server may want
    to know each.
    """
    another = (connection_closed() | channel_closed()).under("4.2.5.5: refused, in another way")
    for name in ("1a", "x" * (LONGEST + 1)):
        channel, queue = broker.queue(new_connection=True)
        channel.ask(Queue.Bind(queue, "amq.direct", queue, arguments={"a1": 1}))
        channel.send(Queue.Bind(queue, "amq.direct", queue, arguments={name: 1}))
        channel.expect(connection_closed(COMMAND_INVALID, SYNTAX_ERROR), another)


DECIMALS = {"price": Decimal("123.45"), "none": Decimal(0), "smallest": Decimal("2147483647E-200")}


@scenario("0-9-1/prose/4.2.5.5.decimals-kept")
@broken_by("rounds", delivers(headers=lambda told: {**told, "price": Decimal("123.4")}))
@broken_by("loses them where it delivers", delivers(behind=Basic.Deliver, headers={}))
@broken_by("loses them where it returns", delivers(behind=Basic.Return, headers={}))
@broken_by("counts the places with a sign", delivers(headers=lambda told: {**told, "smallest": Decimal(0)}))
@broken_by("delivers a float", delivers(headers=lambda told: {**told, "price": 123.45}))
def decimals_come_back(broker: Broker) -> None:
    """12345 with two places, zero with none and the largest integer with 200 places come as published.

    They are got, delivered and returned.
    """
    ways = ThreeWays(broker)
    for way in ways:
        ways.publish(way, TEXT, headers=DECIMALS)
        ways.channel.expect(message(way, TEXT, carrying={"headers": DECIMALS}))


ONCE = ContentHeader(
    Basic.Publish.spec.class_index, len(TEXT), Basic.Properties(headers={"first": 1, "other": 2})
).encode()
TWICE = ONCE.replace(b"other", b"first")
ANYTHING = Outcome("a message, or an exception", lambda seen: not isinstance(seen, Silence))


@scenario("0-9-1/prose/4.2.5.5.duplicate-fields")
@broken_by(
    "renames one of them",
    mends(lambda frame: frame.payload == TWICE, lambda frame: Frame(HEADER, frame.channel, ONCE)),
)
def what_duplicate_fields_come_to_is_recorded(broker: Broker) -> None:
    """A table in which one name stands twice, with different values: any answer is legal."""
    channel, queue = broker.queue()
    channel.publish_octets(queue, TWICE, TEXT)
    channel.send(Basic.Get(queue, no_ack=True))
    channel.expect(ANYTHING.recorded("4.2.5.5: what becomes of it is undefined"))
