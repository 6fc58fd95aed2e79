"""What checks of section 3.2 share: connections that are turned away, that open, that serve."""

from typing import Any

from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.link import Said
from harness.amqp_fast.client.outcomes import (
    Unreadable,
    answered,
    came,
    closed,
    connection_ends,
    stream_ends,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import Channel, Connection
from harness.play.expect import Outcome

TUNING = "at every fault of the negotiation the network connection may end (1269)"
FATAL = "the connection is closed, and nothing says that CONNECTION CLOSE comes before (1226)"
SAID_ALL_THE_SAME = "an invalid initiation closes the network connection (853), which a command may tell"
ASKS_AGAIN = "another CHALLENGE asks for what is missing (949)"
OFFERS_AGAIN = "another CHALLENGE (1228) offers the mechanisms again"
LACK_IS_ERROR = "what is lacking is an error in the command (950)"
ANOTHER_CODE = "a code whose first digit is 2 tells success as well"
MOST_CHALLENGES = 2
"""How often a server may ask for more, though PLAIN has no more to tell."""
LOOK, TRIES = 0.2, 8
"""Seconds between two tries of what may take a server a moment, and how many there are."""
GOOD = range(200, 300)
"""Reply codes of success."""


def turned_away() -> tuple[Outcome, ...]:
    """Allow CONNECTION CLOSE with an error, and the end of the network connection as well (1269)."""
    return connection_ends()


def turned_down(reading: str = TUNING) -> tuple[Outcome, ...]:
    """Allow CONNECTION CLOSE with an error; the bare end of the network connection is not preferred."""
    return closed(Connection.Close), stream_ends().under(reading)


def asked_again(reading: str = ASKS_AGAIN) -> Outcome:
    """Allow that the server asks for another RESPONSE, which is recorded."""
    return answered(Connection.Challenge).recorded(reading)


def foreign_octets() -> Outcome:
    """Allow octets of another protocol: none that are a command of this one."""
    return Outcome("octets of another protocol", lambda seen: isinstance(seen, Unreadable))


def granted(kind: type[Command], tag: int) -> Outcome:
    """Allow a reply with this tag, whose code tells success."""

    def matches(seen: Any) -> bool:
        return came(seen, kind, {"confirm_tag": tag}) and seen.command.reply_code in GOOD

    return Outcome(f"{kind.full_name} with the tag sent and a code of 2xx", matches)


def is_not_opened(connection: FastConnection, said: Said, *others: Outcome) -> None:
    """Judge that what is sent in place of a valid initiation ends the network connection."""
    allowed = closed(Connection.Close).under(SAID_ALL_THE_SAME)
    seen = connection.tries(said, stream_ends(), allowed, *others)
    if not (stream_ends().matches(seen) or isinstance(seen, Connection.Challenge)):
        connection.expect(stream_ends())


def opens(connection: FastConnection, *before: Said, **fields: Any) -> None:
    """Judge that OPEN is confirmed, with `before` in the same write."""
    opening = connection.opening(**fields)
    connection.send(*before, opening)
    connection.expect(granted(Connection.Reply, opening.confirm_tag))
    connection.is_open()


def serves(connection: FastConnection) -> None:
    """Judge that a channel opens on a connection."""
    channel, tag = connection.unopened(), connection.tag()
    channel.send(Channel.Open(channel.id, tag))
    channel.expect(granted(Channel.Reply, tag))


def does_not_open(connection: FastConnection, *said: Said, reading: str = TUNING) -> None:
    """Judge that this, with OPEN behind it in the same write, ends the connection."""
    connection.send(*said, connection.opening())
    connection.expect(*turned_down(reading))


def logs_in(connection: FastConnection, **changes: Any) -> None:
    """Judge that a RESPONSE, altered as given, is answered by TUNE, after as many CHALLENGEs as may be."""
    for _ in range(MOST_CHALLENGES):
        if isinstance(
            connection.tries(connection.response(**changes), tuned(), asked_again()), Connection.Tune
        ):
            return
    connection.tries(connection.response(**changes), tuned())


def tuned() -> Outcome:
    """Allow TUNE."""
    return answered(Connection.Tune)


def is_kept_out(server: Server, *responses: Said, others: tuple[Outcome, ...] = ()) -> None:
    """Judge that each of these RESPONSEs, on a connection of its own, ends the connection."""
    server.tuned()
    for response in responses:
        server.begun().tries(response, *turned_away(), *others)


def asks_again_or_ends(connection: FastConnection, response: Connection.Response) -> None:
    """Judge that a RESPONSE is answered by a CHALLENGE that the whole one answers, or by the end."""
    ends = [each.recorded(LACK_IS_ERROR) for each in turned_away()]
    if isinstance(connection.tries(response, answered(Connection.Challenge), *ends), Connection.Challenge):
        logs_in(connection)


def number(tune: Any, option: str) -> int:
    """Give the number that a TUNE has for an option; zero where it has none."""
    value = tune.options.get(option, 0)
    return value if isinstance(value, int) else 0


def proposed(server: Server, option: str) -> int:
    """Give what the server proposes for an option in its TUNE; zero where it leaves it out."""
    return number(server.tuned().tune, option)


def opens_in_time(server: Server, name: str) -> None:
    """Judge that a client name is confirmed and the connection serves, if need be after a while."""
    for _ in range(TRIES):
        connection = server.tuned()
        connection.send(connection.opening(client_name=name))
        seen: Any = connection.link.next(0, server.context.patience.answer)
        if came(seen, Connection.Reply, {}) and seen.command.reply_code in GOOD:
            connection.is_open()
            serves(connection)
            return
        connection.link.acknowledge_close(seen)
        # On another connection: on one that has ended no time passes.
        server.tuned().link.listen(LOOK)
    opens(server.tuned(), client_name=name)
