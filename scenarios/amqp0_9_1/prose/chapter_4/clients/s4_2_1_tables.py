"""4.2.1 and 4.2.5.5: field tables, as clients send and read them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers, header_with, is_header, with_properties
from harness.amqp0_9_1.broken.deviations import Interposer, mends, spoils, withholds
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed, silence
from harness.amqp0_9_1.client.transcript import Framed, unreadable
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.server.told import Message, plain
from harness.amqp0_9_1.wire.field_tables import TAGS, As, encode_value, shortstr
from harness.amqp0_9_1.wire.frames import HEADER, METHOD, Frame
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, SYNTAX_ERROR, Basic, Connection
from harness.play.expect import ControlFailed
from harness.play.watching import Found, came
from harness.shims.contract import Kind, Refused
from harness.wire.journal import Grade
from scenarios.amqp0_9_1.getting import (
    TEXT,
    WHOLE,
    Octets,
    content,
    getting,
    given_wrongly,
    got,
    headed,
    header_sent,
    headers_in,
    soon,
)
from scenarios.amqp0_9_1.getting import with_properties as headed_with
from scenarios.amqp0_9_1.prose.chapter_4.clients.s4_2_6_content import SAYS_NOTHING
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_1_tables import AGREED, IN_DOUBT, NESTED, without
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_1_tables import plain as plain_values
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_5_5_field_tables import DECIMALS
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.grammar.amqp0_9_1.members import contested
from spec.rules import Role

BODY = TEXT.decode()
PROBE = "probe"
PRACTICE = "4.2.1 against practice: the letter has another meaning for this library"
DOUBTFUL = Basic.GetOk(1, routing_key="in-doubt")


def with_headers(table: Mapping[str, Any]) -> Octets:
    return content(headed_with(Basic.Properties(headers=table)), TEXT)


def sends_headers(**values: Any) -> Interposer:
    """Sends other headers in place of those that have these fields."""
    has_them = header_with(headers=lambda table: values.keys() <= table.keys())
    return mends(has_them, lambda it: with_properties(it, {"headers": lambda table: {**table, **values}}))


# -- 4.2.1 ---------------------------------------------------------------------------------------------

GIVEN: Mapping[str, Any] = {
    "map": [
        ["array", {"list": [True, {"i32": "7"}, {"list": [{"i32": "1"}, {"i32": "2"}]}]}],
        ["after", {"i32": "1"}],
    ]
}
"""The same table as NESTED, as a client is told it."""


@scenario("0-9-1/prose/4.2.1.array-counts-octets", role=Role.CLIENT)
@broken_by("loses what follows", delivers(headers=without("after")), Role.CLIENT)
@broken_by(
    "counts values",
    mends(
        header_with(headers=lambda it: "array" in it),
        lambda it: Frame(
            HEADER, it.channel, it.payload.replace(b"A" + (22).to_bytes(4), b"A" + (3).to_bytes(4))
        ),
    ),
    Role.CLIENT,
)
def client_counts_octets_of_an_array(client: Client) -> None:
    """An array of a boolean, an integer and an array is given on, and sent, whole, with what follows it."""
    channel, queue = getting(client, with_headers(NESTED))
    connection, nobody = channel.connection, client.name("nobody")
    if told := got(channel, queue):
        echoed = header_sent(connection, partial(channel.tries_to_echo, told, nobody))
        client.judge("what was got is given on", "another table", headers_in(echoed) == NESTED)
    publishes = partial(channel.tries_to_publish, BODY, key=nobody, properties={"headers": GIVEN})
    sent = headers_in(header_sent(connection, publishes))
    client.judge("what was given is sent", "another table", sent == NESTED)


@scenario("0-9-1/prose/4.2.1.table-types-understood", role=Role.CLIENT)
@broken_by("loses what has no value", delivers(headers=without("nothing")), Role.CLIENT)
@broken_by("takes a float for a text", delivers(headers=lambda table: {**table, "float": "0.5"}), Role.CLIENT)
def client_understands_the_agreed_types(client: Client) -> None:
    """The values of t, b, B, I, f, d, S, A, T, F and V in a table are told, or given on, as they came.

    Which letters they are given on with is asked elsewhere: some have another meaning in practice.
    """
    channel, queue = getting(client, WHOLE, with_headers(AGREED))
    if channel.get(queue) is None:
        raise ControlFailed("basic.get", "no message")
    if told := got(channel, queue):
        echoes = partial(channel.tries_to_echo, told, client.name("nobody"))
        echoed = headers_in(header_sent(channel.connection, echoes))
        understood = plain_values(AGREED) in (plain(told.properties.get("headers")), echoed)
        client.judge("the values that came", "others", understood)


@scenario("0-9-1/prose/4.2.1.table-types-in-doubt", role=Role.CLIENT)
@broken_by("loses the value", delivers(headers={}), Role.CLIENT)
@broken_by("gets nothing of it", withholds(Basic.GetOk, when=lambda it: it == DOUBTFUL), Role.CLIENT)
def client_understands_the_other_types(client: Client) -> None:
    """A value of s, U, u, i, l or L is told, or given on, as it came, each on a connection of its own.

    Another meaning of the letter, and a refusal with 501 or 502, are recorded.
    """
    refused = connection_closed(FRAME_ERROR, SYNTAX_ERROR)
    for letter, value in IN_DOUBT.items():
        channel, queue = getting(client, WHOLE, in_doubt({PROBE: As(letter, value)}))
        if channel.get(queue) is None:
            raise ControlFailed("basic.get", "no message")
        told = channel.tries_to_get(queue)
        if isinstance(told, Message):
            is_kept(channel, told, value)
        else:
            channel.connection.came(Basic.Get)
            channel.connection.expect(refused.recorded(PRACTICE))


def in_doubt(table: Mapping[str, Any]) -> Octets:
    return content(headed_with(Basic.Properties(headers=table)), TEXT, method=DOUBTFUL)


def is_kept(channel: JudgedChannel, told: Message, value: Any) -> None:
    """Judge that a value was told, or is given on, as it came; another one is recorded."""
    echoes = partial(channel.tries_to_echo, told, channel.client.name("nobody"))
    echoed = headers_in(header_sent(channel.connection, echoes))
    known = (plain(told.properties.get("headers")) or {}, echoed)
    found = [each[PROBE] for each in known if PROBE in each]
    channel.client.judge("a value", "none", bool(found))
    kept = "the value as it came"
    channel.client.judge(kept, "another value", value in found, PRACTICE, Grade.RECORDED)


VALUES: tuple[Any, ...] = (
    True,
    "text",
    None,
    {"i8": "-100"},
    {"u8": "200"},
    {"i16": "-2"},
    {"u16": "65535"},
    {"i32": "-2000000000"},
    {"u32": "4294967295"},
    {"i64": "-3"},
    {"u64": "9223372036854775809"},
    {"f32": "3f000000"},
    {"f64": "3fb999999999999a"},
    {"dec": [2, "12345"]},
    {"time": "1700000000"},
    {"bin": "ff00fe"},
    {"short": "short"},
    {"list": [True, "two"]},
    {"map": [["inner", True]]},
)
"""A value of each kind that a client can be told to send."""


def is_known(client: Client, header: bytes, value: Any) -> None:
    """Judge a value that the client sends by its letter, and by what the grammar reads there."""
    at = header.find(shortstr(PROBE))
    if at < 0:
        return
    tag = chr(header[at + 1 + len(PROBE)])
    client.judge("a type of the grammar", f"a type {tag!r}", tag in TAGS)
    read = headers_in(header)
    seen, given = read.get(PROBE, header), plain(value)
    same = bool(seen == given) and isinstance(seen, bool) is isinstance(given, bool)
    kept = "the value as it was given"
    client.judge(kept, f"another, of type {tag!r}", same, PRACTICE if tag in contested() else "")


def types_it(tag: bytes) -> Interposer:
    """Gives another type to what is sent as a truth value."""
    probe = shortstr(PROBE)
    return mends(
        lambda it: is_header(it) and probe + b"t" in it.payload,
        lambda it: Frame(HEADER, it.channel, it.payload.replace(probe + b"t", probe + tag)),
    )


@scenario("0-9-1/prose/4.2.1.client-sends-known-types", role=Role.CLIENT)
@broken_by("has a type of its own", types_it(b"Z"), Role.CLIENT)
@broken_by("gives the wrong type", types_it(b"b"), Role.CLIENT)
def client_sends_values_of_the_grammar(client: Client) -> None:
    """The client publishes headers with a value of each kind that it has: the grammar reads each as given."""
    connection = client.connection()
    channel, nobody = connection.channel(), client.name("nobody")
    connection.hear_out()
    for value in VALUES:
        told = {"headers": {"map": [[PROBE, value]]}}
        publishes = partial(channel.tries_to_publish, BODY, key=nobody, properties=told)
        is_known(client, header_sent(connection, partial(client.can, publishes)), value)


def nested(depth: int) -> bytes:
    """Give a content header whose headers table has so many tables within it, one in another."""
    table = b""
    for _ in range(depth + 1):
        entry = shortstr("inner") + (b"F" if table else b"t") + (table or b"\x01")
        table = len(entry).to_bytes(4) + entry
    return headed(flags_and_values=b"\x20\x00" + table)


@scenario("0-9-1/prose/4.2.1.client-bears-nested-tables", role=Role.CLIENT)
@broken_by("loses tables within", delivers(headers={}), Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
def client_bears_tables_within_tables(client: Client) -> None:
    """Tables nested 1 and 8 deep are told; those nested 128 and 5000 deep are told, or end the connection."""
    channel, queue = getting(client, *(content(nested(depth), TEXT) for depth in (1, 8)))
    for _ in range(2):
        if told := got(channel, queue):
            client.judge("the tables are told", "none", bool(plain(told.properties.get("headers"))))
    for depth in (128, 5000):
        connection, seen = given_wrongly(client, content(nested(depth), TEXT))
        # A shim that cannot tell so much is no fault of its library.
        if isinstance(seen, Refused) and seen.kind is not Kind.INTERNAL:
            ended = closed_silently().under("2.3.7: an open connection is closed by a hand-shake")
            connection.expect(connection_closed(), ended)
        else:
            connection.works_on()


# -- 4.2.5.5 -------------------------------------------------------------------------------------------


@scenario("0-9-1/prose/4.2.5.5.decimals-kept", role=Role.CLIENT)
@broken_by("sends a float", sends_headers(price=123.45), Role.CLIENT)
@broken_by("loses them", delivers(headers={}), Role.CLIENT)
def client_keeps_decimals(client: Client) -> None:
    """Decimals with two places, with none and with 200 are given on, and the first of them is sent."""
    channel, queue = getting(client, with_headers(DECIMALS))
    connection, nobody = channel.connection, client.name("nobody")
    octets = {name: shortstr(name) + encode_value(As("D", value)) for name, value in DECIMALS.items()}
    if told := got(channel, queue):
        header = header_sent(connection, partial(channel.tries_to_echo, told, nobody))
        kept = all(each in header for each in octets.values())
        client.judge("the decimals are given on", "others, or none", kept)
    given = {"headers": {"map": [["price", {"dec": [2, "12345"]}]]}}
    sent = header_sent(connection, partial(channel.tries_to_publish, BODY, key=nobody, properties=given))
    client.judge("the decimal is sent", "another value", octets["price"] in sent)


ONCE = headed_with(Basic.Properties(headers={"first": 1, "other": 2}))
TWICE = ONCE.replace(b"other", b"first")


@scenario("0-9-1/prose/4.2.5.5.duplicate-fields", role=Role.CLIENT)
@broken_by(
    "renames one of them",
    spoils(lambda it: it.payload == TWICE, lambda it: Frame(HEADER, it.channel, ONCE)),
    Role.CLIENT,
)
def what_a_client_makes_of_duplicate_fields_is_recorded(client: Client) -> None:
    """A message with a table in which one name stands twice: the client tells it, or ends the connection."""
    connection, told = given_wrongly(client, content(TWICE, TEXT))
    client.note("two fields of one name are " + ("told" if isinstance(told, Message) else "refused"))
    any_of_it = silence() | connection_closed() | closed_silently()
    soon(connection, any_of_it.recorded("4.2.5.5: what becomes of it is undefined"))


def twice_a_name(frame: Frame) -> Frame:
    """Put two fields of one name in front of the client's properties in Start-Ok."""
    size = int.from_bytes(frame.payload[4:8])
    fields = 2 * (shortstr("twice") + b"t\x01")
    table = (size + len(fields)).to_bytes(4) + fields
    return Frame(METHOD, frame.channel, frame.payload[:4] + table + frame.payload[8:])


@watch(
    "0-9-1/prose/4.2.5.5.client-names-fields-once",
    during=TALK,
    looks_at=came(METHOD, HEADER),
    role=Role.CLIENT,
)
@broken_by("names one twice", mends(sent_on(Connection.StartOk), twice_a_name), Role.CLIENT)
def client_names_no_field_twice(each: Framed) -> Found:
    """In no table that the client sends two fields have the same name."""
    why = unreadable(each.unit)
    return f"{why} at {each.at:.4f} s" if "occurs twice" in why else True
