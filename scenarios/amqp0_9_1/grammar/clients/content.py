"""What a client makes of properties and of values in tables: sent as given, told as they came, kept."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.amqp0_9_1.broken.content_faults import header_with, with_properties
from harness.amqp0_9_1.broken.deviations import Interposer, mends
from harness.amqp0_9_1.broken.provocations import carried, says_instead
from harness.amqp0_9_1.client.outcomes import Observation, Received
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.server.link import Link
from harness.amqp0_9_1.server.told import Message, plain
from harness.amqp0_9_1.shims.values import told_properties
from harness.amqp0_9_1.wire.field_tables import As, encode_value, longstr, shortstr
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.frames import HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import Basic
from harness.play.expect import Outcome
from harness.shims.contract import Refused
from harness.wire.journal import RECEIVED
from scenarios.amqp0_9_1.grammar.calls import BODY, given, of_clients
from scenarios.amqp0_9_1.grammar.content import (
    MEANT,
    PROBE,
    USUAL,
    VALUES,
    alters,
    is_probe,
    loses,
    otherwise,
)
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject, contested
from spec.rules import Role

OF_THE_LIBRARY = "what its application does not say, a library may say for it"
SAID_EMPTY = "no sentence says how an application's empty value goes out: a library may take it for none"
SAID_FOR_IT = "a library that takes an empty value for none may say one of its own"
TEXT = BODY.decode()


def values(about: Subject) -> Sequence[Any]:
    """Give values of a property: ordinary ones, and the ends of what it can be."""
    field = given(about.field)
    return ("guest",) if field.name == "user-id" else MEANT.get(field.name, USUAL[field.type])


def name(about: Subject) -> str:
    return given(about.field).name


def properties(about: Subject, value: Any) -> Basic.Properties:
    return Basic.Properties(**{attribute(name(about)): value})


# -- sent ----------------------------------------------------------------------------------------------


def as_given(told: Any) -> Any:
    """Give values with a type for each integer, as an application has to."""
    match told:
        case {"int": number}:
            return {"i32": number}
        case dict():
            return {key: as_given(each) for key, each in told.items()}
        case list():
            return [as_given(each) for each in told]
    return told


def sends_with(about: Subject, change: Callable[[Any], Any]) -> Interposer:
    """Sends content headers with another value of the property."""
    python = attribute(name(about))
    changed: dict[str, Any] = {python: change}
    return mends(header_with(**{python: lambda _: True}), lambda frame: with_properties(frame, changed))


def carries(about: Subject, value: Any) -> Outcome:
    """Expect a message with this value of the property; None stands for none."""
    python, shown = attribute(name(about)), "without it" if value is None else "as given"

    def matches(seen: Observation) -> bool:
        if not (isinstance(seen, Received) and isinstance(seen.method, Basic.Publish)):
            return False
        return bool(getattr(seen.properties, python) == value)

    return Outcome(f"basic.publish with {name(about)} {shown}", matches)


def loses_what_it_is_given(about: Subject) -> Interposer | None:
    """Sends no value; not of a property that can only be empty, which is as good as none."""
    return sends_with(about, lambda _: None) if any(values(about)) else None


@scenarios_for(of_clients("property-sent"), role=Role.CLIENT)
@broken_by("loses it", loses_what_it_is_given, Role.CLIENT)
@broken_by("sends another", lambda about: sends_with(about, otherwise), Role.CLIENT)
def client_sends_a_property_as_given(client: Client, about: Subject) -> None:
    """The client publishes messages with values of the property, and one without: they go out so."""
    connection = client.connection()
    channel, key = connection.channel(), client.name("nobody")
    any_value = Outcome(f"basic.publish with {name(about)}", lambda seen: isinstance(seen, Received))
    connection.hear_out()
    for value in values(about):
        told = as_given(told_properties(properties(about, value)))
        channel.tries_to_publish(TEXT, key=key, properties=told)
        as_none = [carries(about, None).recorded(SAID_EMPTY)]
        if any(values(about)):  # of what can only be empty another value is a miss
            as_none.append(any_value.under(SAID_FOR_IT))
        connection.expect(carries(about, value), *([] if value else as_none))
    channel.tries_to_publish(TEXT, key=key)
    connection.expect(carries(about, None), any_value.recorded(OF_THE_LIBRARY))


# -- told ----------------------------------------------------------------------------------------------


def gives(*contents: Basic.Properties) -> Interposer:
    """Answers each Get in turn by a message with such properties, though there is none in the queue."""
    got = [carried(Basic.GetOk(delivery_tag=tag), BODY, each) for tag, each in enumerate(contents, 1)]
    made = [says_instead(Basic.GetEmpty, said, skip=turn) for turn, said in enumerate(got)]
    first, *others = reversed(made)  # the last one comes first: it waits until all others have had their turn
    for each in others:
        first += each
    return first


def getting(client: Client, *contents: Basic.Properties) -> tuple[JudgedChannel, str]:
    """Give a channel of a client on which Get brings such messages from an empty queue."""
    channel = client.connection(gives(*contents)).channel()
    queue = client.name("queue")
    channel.declares(queue)
    return channel, queue


def loses_what_is_something(about: Subject) -> Interposer | None:
    """Tells of no value; not of a property that can only be empty, which is as good as none."""
    return loses(about) if any(values(about)) else None


def adds_it(about: Subject) -> Interposer | None:
    """Tells of a value where none came; not of a table, which may be empty."""
    return None if given(about.field).type == "table" else alters(about)


@scenarios_for(of_clients("property-told"), role=Role.CLIENT)
@broken_by("loses it", loses_what_is_something, Role.CLIENT)
@broken_by("tells another", adds_it, Role.CLIENT)
def client_tells_a_property_as_it_came(client: Client, about: Subject) -> None:
    """The client gets messages with values of the property, and one without: it tells them so."""
    contents = [properties(about, value) for value in values(about)]
    channel, queue = getting(client, *contents, Basic.Properties())
    for value in values(about):
        is_told(client, about, is_given(client, channel, queue), value)
    told = plain(is_given(client, channel, queue).properties.get(name(about)))
    if told is not None and not told:
        client.note(f"no {name(about)} is told as an empty one: no sentence says how an application sees it")
        return
    as_default = "no sentence says how an application sees what is not there"
    client.judge(f"no {name(about)} is told", "one is told", told is None, as_default)


def is_given(client: Client, channel: JudgedChannel, queue: str) -> Message:
    """Judge that the client gives its application a message that it gets."""
    got = channel.tries_to_get(queue)
    why = got.told if isinstance(got, Refused) else "no message"
    client.judge("the message is got", why, isinstance(got, Message))
    assert isinstance(got, Message)
    return got


def is_told(client: Client, about: Subject, message: Message, value: Any) -> None:
    expected = plain(told_properties(properties(about, value))[name(about)])
    told = plain(message.properties.get(name(about)))
    if told is None and not value:
        client.note(f"an empty {name(about)} is told as none: no sentence says how an application sees it")
        return
    client.judge(f"{name(about)} is told as it came", "another is told", told == expected)


# -- values of tables ----------------------------------------------------------------------------------

READING = "4.2.1 against practice: the tag has another meaning for this library, or none"
ANOTHER_TAG = "a library may have fewer types than the wire"


def loses_the_probe(about: Subject) -> Interposer:
    """Gives messages on without the value."""
    return mends(is_probe(given(about.type).tag), lambda frame: with_properties(frame, {"headers": {}}))


def with_the_octets(link: Link, octets: bytes) -> Outcome:
    """Expect a message whose header, as it went over the wire, holds these octets."""

    def matches(_: Observation) -> bool:
        went = [each.unit for each in link.transcript if each.direction is RECEIVED]
        headers = [each for each in went if isinstance(each, Frame) and each.type == HEADER]
        return bool(headers) and octets in headers[-1].payload

    return Outcome("basic.publish with the value as it came", matches)


def is_same(one: Any, other: Any) -> bool:
    """Say whether values are the same; a number is, whether there is a point in it or not."""
    kinds = {float if type(each) is int else type(each) for each in (one, other)}
    return bool(one == other) and len(kinds) == 1


def as_practised(value: Any) -> list[bytes]:
    """Give the octets of a value under tags that are in use, and mean something else in the document."""
    if isinstance(value, bytes):
        return [b"x" + longstr(value)]
    if type(value) is not int:
        return []
    return [
        tag + value.to_bytes(size, signed=True)
        for tag, size in ((b"s", 2), (b"l", 8))
        if -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1
    ]


def with_the_value(value: Any) -> Outcome:
    def matches(seen: Observation) -> bool:
        headers = getattr(getattr(seen, "properties", None), "headers", None) or {}
        return PROBE in headers and is_same(headers[PROBE], value)

    return Outcome("basic.publish with the same value under another tag", matches)


ANY_VALUE = Outcome("basic.publish with another value", lambda seen: isinstance(seen, Received))


@scenarios_for(of_clients("table-kept"), role=Role.CLIENT)
@broken_by(
    "loses it",
    lambda about: None if given(about.type).tag in contested() else loses_the_probe(about),
    Role.CLIENT,
)
@broken_by(
    "ends the connection",
    lambda about: (
        mends(is_probe(given(about.type).tag), lambda _: b"\x00" * 8)
        if given(about.type).tag in contested()
        else None
    ),
    Role.CLIENT,
)
def client_keeps_a_value_of_a_table(client: Client, about: Subject) -> None:
    """The client gets messages with values of the type in their headers, and publishes what it got."""
    tag = given(about.type).tag
    disputed = tag in contested()
    contents = [Basic.Properties(headers={PROBE: As(tag, each)}) for each in VALUES[tag]]
    channel, queue = getting(client, *contents)
    link, nobody = channel.connection.link, client.name("nobody")
    for value in VALUES[tag]:
        got = channel.tries_to_get(queue)
        channel.connection.hear_out()  # what could not be read of the message before has come by now
        refused = channel.tries_to_echo(got, nobody) if isinstance(got, Message) else got
        why = refused.told if isinstance(refused, Refused) else ""
        client.judge("the message is got and given on", why, not why, READING if disputed and why else "")
        if why:
            return
        exact = with_the_octets(link, shortstr(PROBE) + encode_value(As(tag, value)))
        same = with_the_value(value).recorded(ANOTHER_TAG)
        practised = [with_the_octets(link, shortstr(PROBE) + each) for each in as_practised(value)]
        under = [*practised, ANY_VALUE] if disputed else practised
        channel.connection.expect(exact, same, *(each.under(READING) for each in under))
