"""3.2.1 Connection Command Summary: in which order a connection is opened and closed."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    begins,
    greets,
    ignores,
    replaces,
    withholds,
)
from harness.amqp_fast.broken.fakes import CHALLENGE
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.frames import Frame, Initiation, frame
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection
from harness.play.watching import Enough, Gaps, State, came, went
from harness.wire.journal import Direction
from harness.wire.units import Garbage
from scenarios.amqp_fast.connections.negotiation import is_not_opened, logs_in, opens, serves
from scenarios.registry import broken_by, scenario, watch

STAYS = Fault.drops("initiation: of another protocol ends the stream")
"""Does nothing about an initiation of another protocol."""


def is_foreign(initiation: Initiation) -> bool:
    """Say whether an initiation is of another protocol."""
    return initiation.protocol_id != Initiation().protocol_id


@scenario("fast/3.2.1.initiation-before-commands")
@broken_by("takes a command for an initiation", begins(frame(CHALLENGE).encode(), when=is_foreign))
@broken_by("answers the command", begins(frame(Connection.Ping()).encode(), when=is_foreign))
@broken_by("stays", STAYS)
def command_in_place_of_the_initiation_opens_nothing(server: Server) -> None:
    """A PING that comes before the two octets is not answered, and the network connection ends."""
    server.begun()
    is_not_opened(server.socket(), Connection.Ping(respond=True))


@watch(
    "fast/3.2.1.server-speaks-second",
    during="fast/3.2.2.two-octets",
    looks_at=came(Frame, Garbage) + went(Initiation),
    start=State,
    gap=Gaps.STOPS,
)
@broken_by("challenges who has said nothing", greets(frame(CHALLENGE).encode()))
def server_does_not_speak_first(_: State, each: Passage) -> Enough:
    """What the server sends comes behind both octets of ours."""
    ours = each.direction is Direction.SENT
    return Enough(ours or f"the server speaks before both octets of ours, at {each.at:.4f} s")


@scenario("fast/3.2.1.response-answered")
@broken_by("does not answer", ignores(Connection.Response))
@broken_by("closes all the same", answers(Connection.Response, Connection.Close(503)))
@broken_by("confirms it", replaces(Connection.Tune, Connection.Reply(1, OK)))
def response_is_answered(server: Server) -> None:
    """A RESPONSE with the right login and password is answered by TUNE, or by another CHALLENGE before."""
    logs_in(server.begun())


@scenario("fast/3.2.1.reply-means-ready")
@broken_by("does not reply", withholds(Connection.Reply))
@broken_by("replies and does not serve", ignores(Channel.Open))
@broken_by("replies and closes", answers(Channel.Open, Connection.Close(503)))
def reply_tells_that_the_connection_is_ready(server: Server) -> None:
    """OPEN is answered by REPLY; behind it a channel opens."""
    connection = server.tuned()
    opens(connection)
    serves(connection)


@scenario("fast/3.2.1.close-confirmed")
@broken_by("does not confirm", ignores(Connection.Close))
@broken_by("confirms by a REPLY", replaces(Connection.Close, Connection.Reply(1, OK)))
@broken_by("ends without a word", Fault.changes("close: is answered", answer=None))
def close_is_confirmed(server: Server) -> None:
    """CLOSE on an open connection is answered by CLOSE."""
    server.connection().tries(Connection.Close(OK, "done"), Connection.Close)
