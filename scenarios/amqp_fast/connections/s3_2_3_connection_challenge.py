"""3.2.3 CONNECTION CHALLENGE Command: what the server begins with."""

import re

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    answers,
    begins,
    replaces,
    rewrites,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import UNREAD, Passage
from harness.amqp_fast.wire.frames import Frame, Initiation, frame
from harness.amqp_fast.wire.vocabulary import OK, Connection
from harness.play.watching import Enough, Found, Gaps, State, came, went
from scenarios.amqp_fast.connections.negotiation import turned_away
from scenarios.registry import broken_by, scenario, watch

LARGEST = 4096
"""Octets that a command of the negotiation has at most."""
DURING = "fast/3.2.2.valid-initiation-challenged"
CUT_SHORT = Connection.Challenge(1, "PLAIN", b"\x05REALM")
"""Its challenges end within a pair."""
NAME = re.compile(rb"[A-Z0-9_-]+")
"""The name of a mechanism of SASL."""


@scenario("fast/3.2.3.series-before-service")
@broken_by("opens for everybody", answers(Connection.Open, Connection.Reply(1, OK)))
@broken_by("stays", Fault.drops("negotiation: ends for what is not expected"))
def nobody_opens_without_a_response(server: Server) -> None:
    """OPEN in place of the RESPONSE is not confirmed, and the connection ends."""
    server.connection()
    connection = server.begun()
    connection.tries(connection.opening(), *turned_away())


@watch("fast/3.2.3.challenge-first", during=DURING, looks_at=came(Frame), start=State, gap=Gaps.STOPS)
@broken_by("tunes at once", begins(frame(Connection.Tune({"FRAME_MAX": 4096})).encode()))
@broken_by("says something else before", adds(Connection.Challenge, Connection.Ping(), before=True))
def the_challenge_is_the_first_command(_: State, each: Passage) -> Enough:
    """The first command of the server is a CHALLENGE, or closes a connection that nobody has opened."""
    first = isinstance(each.said, Connection.Challenge | Connection.Close)
    return Enough(first or f"first comes {each.said and each.said.full_name} at {each.at:.4f} s")


class Asked(State):
    """The version that we have named."""

    version: int | None = None


@watch(
    "fast/3.2.3.version-not-above",
    during="fast/3.2.2.newer-version-answered",
    looks_at=came(Connection.Challenge) + went(Initiation),
    start=Asked,
    gap=Gaps.STOPS,
)
@broken_by("names version 3", rewrites(Connection.Challenge, version=3))
@broken_by("counts on", rewrites(Connection.Challenge, version=lambda known: known + 1))
def the_version_is_not_above_ours(asked: Asked, each: Passage) -> Found:
    """The version of a CHALLENGE is not above the one that we have named."""
    if isinstance(each.unit, Initiation):
        asked.version = each.unit.version
        return None
    fits = asked.version is None or each.said.version <= asked.version
    return fits or f"version {each.said.version} for {asked.version}, at {each.at:.4f} s"


@watch("fast/3.2.3.mechanisms-delimited", during=DURING, looks_at=came(Connection.Challenge))
@broken_by("delimits by commas", rewrites(Connection.Challenge, mechanisms=b"PLAIN,TLS"))
@broken_by("delimits by tabs", rewrites(Connection.Challenge, mechanisms=b"PLAIN\tTLS"))
@broken_by("lists none", rewrites(Connection.Challenge, mechanisms=b""))
def mechanisms_are_names_with_spaces_between(each: Passage) -> Found:
    """The mechanisms of a CHALLENGE are one name or several, and nothing but spaces between."""
    names = [name for name in each.said.mechanisms.split(b" ") if name]
    fits = bool(names) and all(NAME.fullmatch(name) for name in names)
    return fits or f"mechanisms that are no list of names, at {each.at:.4f} s"


@watch(
    "fast/3.2.3.plain-offered",
    during=DURING,
    looks_at=came(Connection.Challenge),
    start=State,
    gap=Gaps.STOPS,
)
@broken_by("offers another", rewrites(Connection.Challenge, mechanisms=b"TLS"))
@broken_by("writes it in small letters", rewrites(Connection.Challenge, mechanisms=b"plain"))
def plain_is_offered(_: State, each: Passage) -> Enough:
    """The first CHALLENGE offers PLAIN."""
    offered = b"PLAIN" in each.said.mechanisms.split(b" ")
    return Enough(offered or f"mechanisms without PLAIN, at {each.at:.4f} s")


@watch("fast/3.2.3.challenges-are-table", during=DURING, looks_at=came(Connection.Challenge, UNREAD))
@broken_by("lets the table end early", replaces(Connection.Challenge, CUT_SHORT))
def challenges_are_a_field_table(each: Passage) -> Found:
    """A CHALLENGE decodes, its challenges as a field table."""
    if isinstance(each.said, Connection.Challenge):
        return True
    wrong = isinstance(each.unit, Frame) and each.unit.type == Connection.Challenge.code
    return f"a CHALLENGE that cannot be decoded, at {each.at:.4f} s" if wrong else None


@watch("fast/3.2.3.challenge-size", during=DURING, looks_at=came(Connection.Challenge))
@broken_by("asks too much", rewrites(Connection.Challenge, challenges={"FILLED": bytes(LARGEST)}))
def a_challenge_is_not_too_large(each: Passage) -> Found:
    """The frame of a CHALLENGE has at most 4096 octets."""
    return is_small(each)


def is_small(each: Passage) -> Found:
    """Say whether the octets behind the size of a frame are as many as the negotiation allows."""
    assert isinstance(each.unit, Frame)
    size = len(each.unit.payload) + 1
    return size <= LARGEST or f"a command of {size} octets, at {each.at:.4f} s"
