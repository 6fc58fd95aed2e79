"""2.2.4: how a connection begins, and how it ends."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import (
    Fault,
    answers,
    changes,
    ends_with,
    forwards,
    ignores,
    repeats,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp0_9_1.broken.entity_faults import says_close_for_methods
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.outcomes import Received, answered, closed_silently, connection_closed, silence
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.peer.handshake import EXPECT_OPEN, EXPECT_TUNE_OK
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import BODY, HEADER, HEARTBEAT, METHOD, PROTOCOL_HEADER, Frame, Unit
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, INVALID_PATH, NOT_ALLOWED, Channel, Connection
from harness.peers.rows import always
from harness.play.expect import Outcome
from harness.play.watching import Enough, Found, Gaps, State, came, went
from harness.wire.journal import SENT
from harness.wire.units import Garbage, Header
from scenarios.registry import broken_by, scenario, watch

LOGS_IN = "connection.start-ok: good credentials are answered with Tune"

STEPS: dict[type[Any], str] = {
    Header: "h",
    Connection.StartOk: "r",
    Connection.SecureOk: "r",
    Connection.TuneOk: "k",
    Connection.Open: "o",
    Connection.Start: "S",
    Connection.Secure: "C",
    Connection.Tune: "T",
    Connection.OpenOk: "O",
}
"""A letter for each step: small for the client's (r answers a challenge), capital for the server's."""

OURS, THEIRS = "x", "X"
"""What is no step, said by us and by the server."""

DUE: Mapping[str, Callable[[str], bool]] = {
    "h": lambda before: not before,
    "S": lambda before: "h" in before and "S" not in before,
    "r": lambda before: before.count("S") + before.count("C") > before.count("r"),
    "C": lambda before: before.count("r") > before.count("C") and "T" not in before,
    "T": lambda before: before.count("r") > before.count("C") and "T" not in before,
    "k": lambda before: "T" in before and "k" not in before,
    "o": lambda before: "k" in before and "o" not in before,
    "O": lambda before: "o" in before,
    # Behind Open we need not wait: what is asked then is answered when the connection is open.
    OURS: lambda before: "o" in before,
    THEIRS: lambda _: False,
}
"""Whether a step may be taken behind the steps before it."""

NAMES = {letter: kind.__name__ for kind, letter in reversed(STEPS.items())} | {
    OURS: "something else by us",
    THEIRS: "something else",
}
"""What each letter stands for."""

NEGOTIATION = "connection: anything else before it is open ends in silence"
PASSED_OVER = silence().under(
    "2.2.4: who finds an error ends the connection; that a method before its turn is one has no keyword"
)


class Steps(State):
    """The steps of a handshake in the order they went over the wire, up to Open-Ok or a Close."""

    def __init__(self) -> None:
        self.taken = ""

    def judged(self) -> Found:
        """Say whether each step of the server's was due when it came, if there was one."""
        taken = until_ours_is_wrong(self.taken)
        said = [(place, letter) for place, letter in enumerate(taken) if letter.isupper()]
        held = all(DUE[letter](taken[:place]) for place, letter in said)
        return (held or "the steps " + ", ".join(NAMES[letter] for letter in taken)) if said else None

    def end(self) -> Iterator[Found]:
        """Judge the steps of a handshake that was not finished."""
        yield self.judged()


def step(unit: Unit, method: Method | None, sent: bool) -> str:
    """Give the letter of what went over the wire; none for heartbeats, and for what is said but no method."""
    letter = STEPS.get(type(method or unit), "")
    if letter and letter.islower() is sent:
        return letter
    if sent:
        return "" if isinstance(unit, Frame) and unit.type == HEARTBEAT else OURS
    return THEIRS if method else ""


def until_ours_is_wrong(taken: str) -> str:
    """Give the steps before the first of ours that was not due; what comes of it is judged elsewhere."""
    for place, letter in enumerate(taken):
        if letter.islower() and not DUE[letter](taken[:place]):
            return taken[:place]
    return taken


@watch(
    "0-9-1/prose/2.2.4.handshake-in-order",
    during="0-9-1/channel.open.state",
    looks_at=came(Header, METHOD) + went(Header, METHOD, HEADER, BODY, Garbage),
    needs=came(METHOD, Header),
    start=Steps,
    gap=Gaps.STOPS,
)
@broken_by("does not introduce itself", replaces(Connection.Start, Connection.Tune(0, 4096, 0)))
@broken_by("starts twice", repeats(Connection.Start))
@broken_by("tunes twice", repeats(Connection.Tune))
@broken_by("opens twice", repeats(Connection.OpenOk))
@broken_by("opens in place of tuning", replaces(Connection.Tune, Connection.OpenOk()))
@broken_by("says something else in place of tuning", replaces(Connection.Tune, Channel.OpenOk()))
def server_takes_its_steps_in_order(steps: Steps, each: Passage) -> Enough | None:
    """Up to Open-Ok the server says Start, any number of Secure, Tune and Open-Ok, each when it is due.

    No other method comes before Open-Ok. Where a step of ours was wrong, what came before it is looked at.
    """
    over = isinstance(each.said, Connection.Close | Connection.CloseOk)
    if not over:
        steps.taken += step(each.unit, each.said, each.direction is SENT)
    return Enough(steps.judged()) if over or steps.taken.endswith("O") else None


@scenario("0-9-1/prose/2.2.4.handshake-in-order", slow=True)
@broken_by("says nothing to our header", withholds(Connection.Start))
@broken_by("offers what it is asked for", replaces(Connection.Start, PROTOCOL_HEADER))
def header_is_answered_with_start(broker: Broker) -> None:
    """The server says Start to our header: what a connection begins with."""
    broker.socket().tries(PROTOCOL_HEADER, Connection.Start)


@watch(
    "0-9-1/prose/2.2.4.mechanisms-listed",
    during="0-9-1/channel.open.state",
    looks_at=came(Connection.Start),
)
@broken_by("lists none", rewrites(Connection.Start, mechanisms=b""))
@broken_by("lists one twice", rewrites(Connection.Start, mechanisms=b"PLAIN PLAIN"))
@broken_by("separates them by two spaces", rewrites(Connection.Start, mechanisms=b"PLAIN  AMQPLAIN"))
def mechanisms_are_a_list_of_names(each: Passage) -> Found:
    """Every Start has one security mechanism or more, each once, with single spaces between."""
    told = bytes(each.said.mechanisms)
    names = told.split(b" ")
    held = all(names) and len(set(names)) == len(names)
    return held or f"the mechanisms {told!r} at {each.at:.4f} s"


@scenario("0-9-1/prose/2.2.4.steps-not-skipped", slow=True)
@broken_by("opens for everybody", answers(Connection.Open, Connection.OpenOk()))
@broken_by("needs no Tune-Ok", changes("connection.open: is answered", state=(EXPECT_TUNE_OK, EXPECT_OPEN)))
def no_step_of_the_handshake_can_be_left_out(broker: Broker) -> None:
    """Open in answer to Start, with Tune-Ok or not, and Open without Tune-Ok: never Open-Ok.

    The connection ends, or stays as closed as it was.
    """
    host = broker.connection().endpoint.virtual_host
    for hasty, early in (
        (broker.started(), [Connection.Open(host)]),
        (broker.started(), [Connection.TuneOk(), Connection.Open(host)]),
        (broker.tuned(), [Connection.Open(host)]),
    ):
        for method in early:
            hasty.send(method)
        told = connection_closed().under("2.2.4: silence is demanded of whoever has not received Open yet")
        hasty.expect(closed_silently(), told, PASSED_OVER)


@scenario("0-9-1/prose/2.2.4.unknown-virtual-host-refused", slow=True)
@broken_by("takes every client into one host", forwards(Connection.Open, virtual_host="/"))
@broken_by("says nothing", ignores(Connection.Open, when=lambda it: it.virtual_host != "/"))
def virtual_host_that_is_not_there_is_refused(broker: Broker) -> None:
    """The target's own virtual host is opened; another one, that nobody has made, is refused with 402."""
    broker.connection()
    lost = broker.tuned()
    lost.send(lost.tune_ok(), Connection.Open(f"{broker.context.prefix}-nowhere"))
    lost.expect(
        connection_closed(INVALID_PATH),
        connection_closed(NOT_ALLOWED).under("connection.open: 530 for a host that may not be used"),
        closed_silently().under("2.2.4: no handshake for errors on a connection that is not open"),
        connection_closed().under("2.2.4: a host is confirmed or not, and no code is named for the latter"),
    )


def tries_to_log_in(guesser: AmqpConnection, *outcomes: Outcome) -> None:
    """Send Start-Ok as it is, and the same response again if the server asks for it; judge what comes."""
    given = guesser.start_ok()
    guesser.send(given)
    wanted, *others = outcomes
    if isinstance(guesser.expect(wanted | answered(Connection.Secure), *others), Received):
        guesser.tries(Connection.SecureOk(given.response), *outcomes)


@scenario("0-9-1/prose/2.2.4.error-before-open-is-silent", slow=True)
@broken_by("says Close before it closes", ends_with(Connection.Close(ACCESS_REFUSED, "who are you?")))
@broken_by("takes any password", changes(LOGS_IN, condition=always))
@broken_by("goes on after what it cannot read", changes(NEGOTIATION, effects=()))
def error_before_open_ends_without_a_word(broker: Broker) -> None:
    """After a wrong password, and a Start-Ok that cannot be read, the socket is closed without an octet."""
    broker.tuned()
    guesser = broker.socket(user=broker.endpoint.user, password=f"not {broker.endpoint.password}")
    guesser.begin()
    tries_to_log_in(guesser, closed_silently())
    stammerer = broker.started()
    stammerer.send_frames(Frame(METHOD, 0, stammerer.start_ok().encode()[:-1]))
    stammerer.expect(closed_silently())


@scenario("0-9-1/prose/2.2.4.error-before-open-is-silent", slow=True)
@broken_by("says Close when a step is left out", Fault(says_close_for_methods))
@broken_by("opens channels for everybody", answers(Channel.Open, Channel.OpenOk()))
def step_left_out_before_open_ends_without_a_word(broker: Broker) -> None:
    """In answer to Start a Tune-Ok, a Secure-Ok nobody asked for, a Channel.Open; and Start-Ok behind Tune.

    All before Open: each ends the connection without an octet, or has no effect.
    """
    hasty, unasked, early, again = (broker.started() for _ in range(4))
    hasty.send(Connection.TuneOk())
    unasked.send(Connection.SecureOk(unasked.start_ok().response))
    channel = early.unopened()
    channel.send(Channel.Open())
    again.authenticate()
    again.send(again.start_ok())
    for each in (hasty, unasked, early, again):
        each.expect(closed_silently(), PASSED_OVER)
    channel.got_nothing()


@scenario("0-9-1/prose/2.2.4.socket-closed-after-close-ok", slow=True)
@broken_by("goes on talking", ends_with(Connection.CloseOk()))
def socket_is_closed_after_close_ok(broker: Broker) -> None:
    """After Close and Close-Ok the server closes the socket and says nothing more; or leaves it to us."""
    connection = broker.connection()
    connection.shake_hands()
    waits = silence().recorded("2.2.4 does not say who closes the socket first, nor how soon")
    connection.expect(closed_silently(), waits)
