"""3.2.3.1 Field Tables: their form, the names in them, and which field counts."""

import re
from collections.abc import Iterator
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    hears,
    ignores,
    replaces,
    rewrites,
)
from harness.amqp_fast.broken.fakes import TUNE
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.outcomes import came as came_as
from harness.amqp_fast.client.outcomes import closed, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import UNREAD, Passage
from harness.amqp_fast.wire.frames import Frame, RawFrame
from harness.amqp_fast.wire.tables import Table, Tagged, encode_table, short_string
from harness.amqp_fast.wire.vocabulary import OK, Connection
from harness.peers.interposer import Condition
from harness.play.watching import Found, came
from scenarios.amqp_fast.connections.negotiation import (
    asked_again,
    does_not_open,
    granted,
    is_kept_out,
    logs_in,
    number,
    opens,
    proposed,
)
from scenarios.registry import broken_by, scenario, watch

NAME = re.compile(r"[A-Za-z$#][A-Za-z$#0-9_]{0,127}")
LONGEST = 128
"""Characters that the name of a field has at most."""
UNREAD_OPTIONS = "options have no meaning yet (1116) and may be skipped unread"
WORDLESS = "nothing says how such a name is refused"
NOT_UNDERSTOOD = "negotiation: ends for what is not expected"
LETS_IN = Fault.changes(NOT_UNDERSTOOD, answer=lambda _: (TUNE,))
"""Takes what it cannot read for a good RESPONSE."""
STAYS = Fault.drops(NOT_UNDERSTOOD)
REFUSAL = Connection.Close(502)


def of_table(server: Server, content: bytes, size: int | None = None) -> RawFrame:
    """Make a RESPONSE of these octets of a table, whose size may lie."""
    good = server.begun().response()
    length = (len(content) if size is None else size).to_bytes(2, "big")
    return RawFrame(bytes((good.code,)) + short_string(good.mechanism) + length + content)


def good_table(server: Server) -> bytes:
    """Give the octets of a table that logs in, without its length."""
    return encode_table(server.begun().response().responses)[2:]


# -- the form ------------------------------------------------------------------------------------------


@watch(
    "fast/3.2.3.1.server-tables-decode",
    during="fast/3.2.4.accepted-by-tune",
    looks_at=came(Connection.Tune, Connection.Challenge, UNREAD),
)
@broken_by("ends its options within a pair", replaces(Connection.Tune, Connection.Tune(b"\x09FRAME_MAXI\0")))
@broken_by("writes a type that is none", rewrites(Connection.Tune, options={"X": Tagged(b"L", bytes(8))}))
def tables_divide_into_pairs(each: Passage) -> Found:
    """A command of the server that has a table decodes, and so does the header of a message."""
    if each.said is not None:
        return True
    assert isinstance(each.unit, Frame)
    has_table = each.unit.type in (Connection.Challenge.code, Connection.Tune.code)
    return f"a command whose table cannot be decoded, at {each.at:.4f} s" if has_table else None


@scenario("fast/3.2.3.1.table-length-wrong")
@broken_by("does not look at the length", LETS_IN)
@broken_by("stays", STAYS)
def a_table_of_another_length_is_refused(server: Server) -> None:
    """A RESPONSE whose table has a length one too large, and one too small, ends the connection."""
    table = good_table(server)
    is_kept_out(server, *(of_table(server, table, len(table) + more) for more in (1, -1)))


@scenario("fast/3.2.3.1.pair-cut-short")
@broken_by("makes up the rest", LETS_IN)
@broken_by("stays", STAYS)
def a_pair_that_is_cut_short_is_refused(server: Server) -> None:
    """A RESPONSE whose table ends behind the name of PASSWORD, its type, or in its value, ends it."""
    table = good_table(server)
    value = table.index(b"PASSWORD") + len("PASSWORD")
    cut = (table[:value], table[: value + 1], table[:-1])
    is_kept_out(server, *(of_table(server, each) for each in cut), others=(asked_again(),))


@scenario("fast/3.2.3.1.unknown-type-refused")
@broken_by("guesses its length", LETS_IN)
@broken_by("stays", STAYS)
def a_type_that_is_none_is_refused(server: Server) -> None:
    """A RESPONSE with a field of type X in front of the others ends the connection."""
    is_kept_out(server, of_table(server, b"\x05EXTRAX\0\0\0\0" + good_table(server)))


# -- names ---------------------------------------------------------------------------------------------


@watch(
    "fast/3.2.3.1.field-names-well-formed",
    during="fast/3.2.4.accepted-by-tune",
    looks_at=came(Connection.Challenge, Connection.Tune),
)
@broken_by("begins one with a digit", rewrites(Connection.Tune, options=lambda told: {**told, "1ST": 1}))
@broken_by("puts a blank in one", rewrites(Connection.Tune, options=lambda told: {**told, "A B": 1}))
@broken_by("names nothing", rewrites(Connection.Challenge, challenges={"": 1}))
@broken_by("writes a long one", rewrites(Connection.Challenge, challenges={"A" * 129: 1}))
def names_of_fields_have_their_form(each: Passage) -> Iterator[Found]:
    """A name in a table of the server begins with a letter, $ or #, and goes on with these and more."""
    tables = [getattr(each.said, name) for name in each.said.names]
    for name in (name for table in tables if isinstance(table, Table) for name, _ in table.pairs):
        # The document's own examples have hyphens.
        fits = NAME.fullmatch(name.replace("-", "_"))
        yield bool(fits) or f"the name of a field that is none, at {each.at:.4f} s"


def opens_with(connection: FastConnection, name: str) -> None:
    """Judge that OPEN with an option of a malformed name is refused, or confirmed."""
    opening = connection.opening(options=[(name, 1)])
    skipped = granted(Connection.Reply, opening.confirm_tag).recorded(UNREAD_OPTIONS)
    connection.tries(opening, closed(Connection.Close), skipped, stream_ends().under(WORDLESS))


def is_malformed(opening: Any) -> bool:
    """Say whether a name among the options of OPEN is none."""
    return not all(NAME.fullmatch(name) for name, _ in opening.options.pairs)


@scenario("fast/3.2.3.1.malformed-name")
@broken_by("stumbles", ignores(Connection.Open, when=is_malformed))
@broken_by("says it is done", answers(Connection.Open, Connection.Close(OK), when=is_malformed))
def a_malformed_name_is_refused_or_skipped(server: Server) -> None:
    """1abc, _x, one with a blank and an empty one, as options of OPEN, are refused or skipped."""
    server.connection()
    for name in ("1abc", "_x", "a b", ""):
        opens_with(server.tuned(), name)


@scenario("fast/3.2.3.1.name-too-long")
@broken_by("stumbles", ignores(Connection.Open, when=is_malformed))
@broken_by("says it is done", answers(Connection.Open, Connection.Close(OK), when=is_malformed))
def a_name_that_is_too_long_is_refused_or_skipped(server: Server) -> None:
    """A name of 129 letters, and one of 255, as option of OPEN, are refused or skipped."""
    server.connection()
    for length in (LONGEST + 1, 255):
        opens_with(server.tuned(), "a" * length)


# -- which field counts --------------------------------------------------------------------------------


def has_double(field: str) -> Condition:
    """Find a command in whose table a field stands twice."""
    return lambda command: len(getattr(command, field)) < len(getattr(command, field).pairs)


def last_first(table: Table) -> list[tuple[str, Any]]:
    """Read a table from its end: of a field that stands twice the last one counts."""
    return list(reversed(table.pairs))


@scenario("fast/3.2.3.1.first-login-counts")
@broken_by("takes the last", hears(Connection.Response, responses=last_first))
@broken_by("refuses both", answers(Connection.Response, REFUSAL, when=has_double("responses")))
def of_two_credentials_the_first_counts(server: Server) -> None:
    """The right PASSWORD, or LOGIN, logs in with a wrong one behind it, and not with one before it."""
    good = server.tuned().response().responses
    for name in good:
        wrong = [(name, b"wrong")]
        logs_in(server.begun(), responses=[*good.items(), *wrong])
        doubled = server.begun().response(responses=[*wrong, *good.items()])
        is_kept_out(server, doubled, others=(asked_again(),))


@scenario("fast/3.2.3.1.first-tuning-value-counts")
@broken_by("takes the last", hears(Connection.Tune, options=last_first))
@broken_by("takes no double", answers(Connection.Tune, REFUSAL, when=has_double("options")))
def of_two_options_the_first_counts(server: Server) -> None:
    """FRAME_MAX 1024 is accepted with one beyond the server's behind it, and refused with it before."""
    told = proposed(server, "FRAME_MAX")
    if not 1024 <= told < 0x7FFFFFFF:
        server.inapplicable("no FRAME_MAX is too large for this server")
    small, large = ("FRAME_MAX", 1024), ("FRAME_MAX", told + 1)
    probe = server.tuned()
    probe.send(Connection.Tune([large]), probe.opening())
    if came_as(probe.link.next(0, server.context.patience.close), Connection.Reply, {}):
        server.inapplicable("a FRAME_MAX that is too large is not refused")
    opens(server.tuned(), Connection.Tune([small, large]))
    does_not_open(server.tuned(), Connection.Tune([large, small]))


def is_negative(tune: Any) -> bool:
    """Say whether the FRAME_MAX of a client is negative."""
    return bool(number(tune, "FRAME_MAX") < 0)


@scenario("fast/3.2.3.1.negative-frame-max-refused")
@broken_by("takes it for none", hears(Connection.Tune, options={}, when=is_negative))
@broken_by("stumbles", Fault.changes("tune: is refused", effects=()))
def a_negative_frame_max_is_refused(server: Server) -> None:
    """FRAME_MAX -1, and the least there is, end the connection."""
    opens(server.tuned(), Connection.Tune({"FRAME_MAX": 1024}))
    for value in (-1, -0x80000000):
        does_not_open(server.tuned(), Connection.Tune({"FRAME_MAX": value}))


@watch(
    "fast/3.2.3.1.limits-not-negative",
    during="fast/3.2.4.accepted-by-tune",
    looks_at=came(Connection.Tune),
)
@broken_by("has one that is", rewrites(Connection.Tune, options=lambda told: {**told, "CHANNEL_MAX": -1}))
@broken_by("uses bit 31", rewrites(Connection.Tune, options=lambda told: {**told, "TXN_LIMIT": -0x80000000}))
def limits_are_not_negative(each: Passage) -> Iterator[Found]:
    """No number in the options of TUNE is negative."""
    for name, value in each.said.options.items():
        if isinstance(value, int):
            yield value >= 0 or f"{name} is negative at {each.at:.4f} s"
