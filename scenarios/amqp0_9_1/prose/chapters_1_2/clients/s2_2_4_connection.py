"""2.2.4, 4.2.2 and 4.10.2: how a client begins a connection, and what it makes of errors and silence."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.amqp0_9_1.broken.deviations import (
    Interposer,
    adds,
    answers,
    confirms,
    forwards,
    ignores,
    mends,
    rejects,
    rewrites,
    spoils,
    withholds,
)
from harness.amqp0_9_1.broken.frame_faults import START, TUNE, sent_on, without_its_last
from harness.amqp0_9_1.broken.provocations import hangs_up, says_instead
from harness.amqp0_9_1.client.outcomes import Received, answered, closed_silently
from harness.amqp0_9_1.client.transcript import Passage, readable
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.frames import METHOD, PROTOCOL_HEADER, method_frame
from harness.amqp0_9_1.wire.vocabulary import CONNECTION_FORCED, Channel, Connection, Queue
from harness.play.watching import Enough, Found, Gaps, State, came, went
from harness.shims.contract import Kind
from harness.targets.client.ears import deaf_to_the_end, mishears, stays
from harness.wire.journal import RECEIVED
from harness.wire.units import Header
from scenarios.amqp0_9_1.connection.start import is_valid
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

# -- what every client shows ---------------------------------------------------------------------------


@watch("0-9-1/prose/4.2.2.client-header-layout", during=TALK, looks_at=came(Header), role=Role.CLIENT)
@broken_by("says 1 for the zero", Interposer(header_to_server=b"AMQP\x01\x00\x09\x01"), Role.CLIENT)
@broken_by("says another revision", Interposer(header_to_server=b"AMQP\x00\x00\x09\x63"), Role.CLIENT)
def client_writes_the_header_of_its_version(each: Passage) -> Found:
    """The header is AMQP, the octet zero and 0-9-1; those of other published versions do not count."""
    assert isinstance(each.unit, Header)
    if each.unit.octets == PROTOCOL_HEADER:
        return True
    of_others = is_valid(each.unit) and each.unit.version[:2] != (0, 9)
    return None if of_others else f"{each.unit.octets.hex()} at {each.at:.4f} s"


STEPS: Mapping[type[Any], str] = {
    Connection.Start: "S",
    Connection.Secure: "C",
    Connection.Tune: "T",
    Connection.StartOk: "r",
    Connection.SecureOk: "c",
    Connection.TuneOk: "k",
    Connection.Open: "o",
}
"""A letter for each step: capital for the server's, small for the client's."""
DUE: Mapping[str, Callable[[str], bool]] = {
    "r": lambda before: "S" in before and "r" not in before,
    "c": lambda before: before.count("C") > before.count("c"),
    "k": lambda before: "T" in before and "k" not in before,
    "o": lambda before: "k" in before and "o" not in before,
}
"""Whether the client may take a step behind the steps before it."""


class Begun(State):
    """The steps that were taken, by both."""

    def __init__(self) -> None:
        self.taken = ""


@watch(
    "0-9-1/prose/2.2.4.client-follows-the-order",
    during=TALK,
    looks_at=came(METHOD) + went(*(each for each, letter in STEPS.items() if letter.isupper())),
    start=Begun,
    gap=Gaps.STOPS,
    role=Role.CLIENT,
)
@broken_by("leaves Tune-Ok out", ignores(Connection.TuneOk), Role.CLIENT)
@broken_by(
    "says Start-Ok twice", adds(sent_on(Connection.StartOk), lambda it: it, from_server=False), Role.CLIENT
)
@broken_by(
    "opens a channel first",
    mends(sent_on(Connection.Open), lambda _: method_frame(1, Channel.Open())),
    Role.CLIENT,
)
def client_takes_its_steps_in_order(begun: Begun, each: Passage) -> Found | Enough:
    """Start-Ok comes after Start, Secure-Ok after Secure, Tune-Ok after Tune, then Open; then all else."""
    letter = STEPS.get(type(each.said), "")
    if each.direction is not RECEIVED:
        begun.taken += letter
        return None
    if isinstance(each.said, Connection.Close | Connection.CloseOk):
        return Enough()
    if letter and DUE[letter](begun.taken):
        begun.taken += letter
        return True
    if not letter and "o" in begun.taken:
        return Enough(True)
    return Enough(
        f"{each.said.full_name if each.said else 'a method'} when it was not due at {each.at:.4f} s"
    )


class Offered(State):
    """What the server offered."""

    def __init__(self) -> None:
        self.mechanisms: list[str] = []
        self.locales: list[str] = []


@watch(
    "0-9-1/prose/2.2.4.client-selects-what-is-offered",
    during=TALK,
    looks_at=came(Connection.StartOk) + went(Connection.Start),
    start=Offered,
    gap=Gaps.STOPS,
    role=Role.CLIENT,
)
@broken_by("has a mechanism of its own", forwards(Connection.StartOk, mechanism="EXTERNAL"), Role.CLIENT)
@broken_by("has a locale of its own", forwards(Connection.StartOk, locale="de_DE"), Role.CLIENT)
def client_selects_a_mechanism_and_a_locale(offered: Offered, each: Passage) -> Found:
    """The mechanism and the locale in Start-Ok are a word each of the lists in Start."""
    if isinstance(each.said, Connection.Start):
        whole = readable(each.unit) is not None
        offered.mechanisms = words(each.said.mechanisms) if whole else []
        offered.locales = words(each.said.locales) if whole else []
        return None
    if not offered.mechanisms:
        return None
    if each.said.mechanism not in offered.mechanisms:
        return f"the mechanism is none of those offered at {each.at:.4f} s"
    return each.said.locale in offered.locales or f"the locale is none of those offered at {each.at:.4f} s"


def words(told: bytes) -> list[str]:
    return bytes(told).decode(errors="replace").split(" ")


# -- what it makes of errors ---------------------------------------------------------------------------

UNKNOWN = rewrites(Connection.Start, mechanisms=b"X-UNKNOWN")


@scenario("0-9-1/prose/2.2.4.error-before-open-is-silent", role=Role.CLIENT)
@broken_by("leaves the socket open", stays(), Role.CLIENT)
@broken_by("answers all the same", rewrites(Connection.Start, mechanisms=b"PLAIN"), Role.CLIENT)
@broken_by(
    "guesses what it cannot read",
    spoils(TUNE, lambda _: method_frame(0, Connection.Tune(1, 4096, 0))),
    Role.CLIENT,
)
def client_ends_in_silence_before_it_is_open(client: Client) -> None:
    """Start offers no mechanism that is known, Start is cut short, Tune is: each time the socket is closed.

    Nothing is said before, but what answers the steps that were in order.
    """
    client.connection()
    client.connecting(UNKNOWN).expect(closed_silently())
    unread = answered(Connection.StartOk).under("2.2.4: who does not read the locales finds no error in them")
    client.connecting(spoils(START, without_its_last(4))).expect(closed_silently(), unread)
    connection = client.connecting(spoils(TUNE, without_its_last(4)))
    connection.came(Connection.StartOk)
    connection.expect(closed_silently())


def first(times: int) -> Callable[[object], bool]:
    """Hold for so many."""
    left = iter(range(times))
    return lambda _: next(left, None) is not None


RESPONDS = replace(answered(Connection.SecureOk), waits_for_end=True)
"""Waited for until a client that does not respond has given up: only then it shows how it ends."""


@scenario("0-9-1/prose/2.2.4.client-answers-challenges", role=Role.CLIENT)
@broken_by("does not answer", ignores(Connection.SecureOk), Role.CLIENT)
@broken_by(
    "answers with Tune-Ok",
    mends(sent_on(Connection.SecureOk), lambda _: method_frame(0, Connection.TuneOk(0, 4096, 0))),
    Role.CLIENT,
)
def client_answers_each_challenge(client: Client) -> None:
    """Secure is answered with Secure-Ok, and another one too; then Tune-Ok follows Tune.

    A mechanism may have nothing to say to a second challenge: then the socket may be closed.
    """
    asks = forwards(Connection.StartOk, response=b"")
    asked = client.connecting(asks)
    asked.came(Connection.StartOk)
    asked.expect(RESPONDS)
    asked.expect(Connection.TuneOk)
    once_more = answers(Connection.SecureOk, Connection.Secure(b"once more"), when=first(1))
    again = client.connecting(asks, once_more)
    again.came(Connection.SecureOk)
    done = closed_silently().under("RFC 4616: PLAIN is done with one response")
    again.expect(answered(Connection.SecureOk), done)


OLDER = b"AMQP\x00\x00\x09\x00"
A_START = method_frame(0, Connection.Start(0, 9, {}, b"PLAIN", b"en_US")).encode()


@scenario("0-9-1/prose/4.2.2.client-lowers-version", role=Role.CLIENT)
@broken_by("takes the header for Start", mishears(OLDER, A_START), Role.CLIENT)
def client_goes_when_the_header_is_another(client: Client) -> None:
    """The server answers with the header of 0-9-0: the client goes, and may come back with that."""
    client.connecting(says_instead(Connection.Start, OLDER)).expect(closed_silently())


# -- what it makes of a server that says nothing -------------------------------------------------------


@scenario("0-9-1/prose/4.10.2.client-told-of-silent-close", role=Role.CLIENT)
@broken_by("does not see the end", deaf_to_the_end(), Role.CLIENT)
def client_notices_that_it_is_shut_out(client: Client) -> None:
    """The server closes the socket in place of Tune, then of Open-Ok: the client notices each time."""
    client.connection()
    for step in (Connection.Tune, Connection.OpenOk):
        refused = client.connecting(hangs_up(step)).refused
        noticed = refused is not None and refused.kind is not Kind.TIMEOUT
        client.judge("an error", refused.told if refused else "a connection", noticed)


@scenario("0-9-1/prose/2.2.4.client-awaits-open-ok", slow=True, role=Role.CLIENT)
@broken_by("does not wait", confirms(Connection.Open, Connection.OpenOk()), Role.CLIENT)
def client_waits_for_open_ok(client: Client) -> None:
    """Open is not answered: the client gives up some time, and does not say that it is connected."""
    client.connection()
    connection = client.connecting(withholds(Connection.OpenOk))
    client.judge("no connection", "a connection", connection.refused is not None)


@scenario("0-9-1/prose/2.2.4.socket-closed-after-close-ok", role=Role.CLIENT)
@broken_by("leaves the socket open", stays(), Role.CLIENT)
def client_closes_the_socket_after_close_ok(client: Client) -> None:
    """After the server's Close-Ok, and after its own, the client closes the socket; the server does not."""
    connection = client.connection(answers(Connection.Close, Connection.CloseOk()))
    connection.closes()
    connection.came(Connection.Close)
    connection.expect(closed_silently())
    connection = client.connection(rejects(Queue.Declare, CONNECTION_FORCED), ignores(Connection.CloseOk))
    connection.channel().tries("queue.declare", queue=client.name("queue"))
    connection.came(Queue.Declare)
    # That Close-Ok comes is judged by 0-9-1/prose/2.3.7.close-answered.
    if isinstance(connection.expect(answered(Connection.CloseOk) | closed_silently()), Received):
        connection.expect(closed_silently())
