"""2.2.8.1 Preparing The Connection."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    answers,
    begins_with,
    ignores,
    repeats,
    replaces,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import (
    WORDLESS,
    answered,
    closed,
    connection_ends,
    replied,
    silence,
    stream_ends,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.events import ConnectionState, Early
from harness.amqp_fast.peer.tables.negotiation import challenge
from harness.amqp_fast.peer.turn import Row
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Initiation
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.play.watching import Enough, Found, Gaps, State, came, went
from scenarios.amqp_fast.talk import DIALOGUE
from scenarios.registry import broken_by, scenario, watch

NARROW = "555: an error on a channel closes that"
TUNE = Connection.Tune({"FRAME_MAX": 4096})


class Steps(State):
    """How many answers of the server are due, by their kind."""

    def __init__(self) -> None:
        self.due: dict[type, int] = {}
        self.tuned = False


@watch(
    "fast/2.2.8.1.steps-in-order",
    during=DIALOGUE,
    looks_at=went(Initiation, Connection.Response, Connection.Open)
    + came(Connection.Challenge, Connection.Tune, Connection.Reply, Channel.Reply, Handle.Reply),
    start=Steps,
    gap=Gaps.STOPS,
)
@broken_by("challenges twice", repeats(Connection.Challenge))
@broken_by("tunes twice", repeats(Connection.Tune))
@broken_by("tunes before the log-in", adds(Connection.Challenge, TUNE))
@broken_by("confirms CONNECTION OPEN before it came", adds(Connection.Tune, Connection.Reply(1, OK)))
def steps_come_in_order(steps: Steps, each: Passage) -> Found | Enough:
    """Each step of the server answers one of the client: CHALLENGE, TUNE once, REPLY."""
    match each.said or each.unit:
        case Initiation():
            steps.due = {Connection.Challenge: 1}
        case Connection.Response():
            steps.due = {Connection.Challenge: 1, Connection.Tune: 1}
        case Connection.Open():
            # Sent too early it takes nothing from what else is due.
            steps.due |= {Connection.Reply: 1}
        case Channel.Reply() | Handle.Reply():
            return Enough()
        case Command() as said:
            is_due = steps.due.get(type(said), 0) > 0
            steps.due = {}
            return is_due or f"{said.full_name} where it is not due"
    return None


HASTY: Row[Early] = Row(
    "negotiation: opens channels", ConnectionState.TUNED, Early, answer=lambda _: (Channel.Reply(1, 1, OK),)
)


@scenario("fast/2.2.8.1.steps-not-skipped")
@broken_by("opens the channel", Fault.inserts("negotiation: ends for what is not expected", HASTY))
@broken_by("says nothing", Fault.drops("negotiation: ends for what is not expected"))
def open_cannot_be_left_out(server: Server) -> None:
    """CHANNEL OPEN without CONNECTION OPEN before it is not confirmed."""
    server.channel()
    channel = server.tuned().unopened(1)
    legal = closed(Connection.Close), stream_ends().recorded(WORDLESS), closed(Channel.Close).recorded(NARROW)
    channel.tries(Channel.Open(1, 1), *legal)


@scenario("fast/2.2.8.1.challenge-answers-initiation")
@broken_by("begins with TUNE", replaces(Connection.Challenge, TUNE))
@broken_by("adds a TUNE", adds(Connection.Challenge, TUNE))
@broken_by("does not look at it", begins_with(Initiation()))
@broken_by("says nothing", withholds(Connection.Challenge))
def initiation_is_answered_by_challenge(server: Server) -> None:
    """128 and 1 are answered by CONNECTION CHALLENGE alone, 1 and 128 are not."""
    connection = server.socket()
    connection.tries(Initiation(), Connection.Challenge)
    connection.expect(silence())
    told = closed(Connection.Close).recorded("1230 has what is not understood closed by a command")
    server.socket().tries(Initiation(1, 128), stream_ends(), told)


def is_half(response: Connection.Response) -> bool:
    """Say whether it has the login alone."""
    return len(response.responses) == 1


def asks_for_ever(turn: AnyTurn) -> None:
    """Asks again whatever is answered."""
    turn.connection.challenges = 99


ENDLESS: Row[Connection.Response] = Row(
    "response: is asked for ever",
    ConnectionState.CHALLENGED,
    Connection.Response,
    lambda turn: is_half(turn.event),
    (asks_for_ever,),
    challenge,
)


@scenario("fast/2.2.8.1.may-challenge-again")
@broken_by("lets in by the name alone", answers(Connection.Response, TUNE, when=is_half))
@broken_by("says nothing", ignores(Connection.Response, when=is_half))
@broken_by("challenges without end", Fault.inserts("response: is not enough", ENDLESS))
def challenges_lead_to_tune(server: Server) -> None:
    """A response with the login alone is refused or asked for again; a good one then leads to TUNE."""
    server.tuned()
    connection = server.begun()
    login = connection.response(responses={"LOGIN": server.endpoint.user})
    seen = connection.tries(login, *connection_ends(), answered(Connection.Challenge).recorded("asked again"))
    for _ in range(4):
        if not isinstance(seen, Connection.Challenge):
            return
        seen = connection.tries(connection.response(), answered(Connection.Tune, Connection.Challenge))
    server.judge("CONNECTION TUNE after some challenges", "no end of them", False)


@scenario("fast/2.2.8.1.tune-after-login")
@broken_by("says nothing", withholds(Connection.Tune))
@broken_by("tunes twice", repeats(Connection.Tune))
@broken_by("tells no FRAME_MAX", replaces(Connection.Tune, Connection.Tune()))
def login_is_answered_by_tune(server: Server) -> None:
    """CONNECTION TUNE is the answer to a good response; it has FRAME_MAX, and comes once."""
    connection = server.begun()
    seen: Any = connection.challenge
    while isinstance(seen, Connection.Challenge):
        seen = connection.tries(connection.response(), answered(Connection.Tune, Connection.Challenge))
    server.judge("FRAME_MAX among its options", "others", "FRAME_MAX" in seen.options)
    connection.expect(silence())
    opening = connection.opening()
    connection.tries(opening, replied(Connection.Reply, opening.confirm_tag))


@scenario("fast/2.2.8.1.open-follows-tunes")
@broken_by("takes none", Fault.drops("tune: is accepted"))
@broken_by("confirms before OPEN", answers(Connection.Ping, Connection.Reply(1, OK)))
@broken_by("wants a TUNE first", ignores(Connection.Open))
def open_may_follow_any_tunes(server: Server) -> None:
    """CONNECTION OPEN is confirmed without a TUNE before it and behind two; nothing is before it came."""
    for count in (0, 2):
        connection = server.tuned()
        opening = connection.opening()
        ours = Connection.Tune({"FRAME_MAX": connection.tune.options["FRAME_MAX"]})
        connection.send(*[ours] * count)
        connection.lives()
        connection.tries(opening, replied(Connection.Reply, opening.confirm_tag))
