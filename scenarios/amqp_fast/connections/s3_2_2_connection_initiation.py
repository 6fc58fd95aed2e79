"""3.2.2 Connection Initiation: two octets, and the version that both know."""

from collections.abc import Callable

from harness.amqp_fast.broken.deviations import (
    Fault,
    Interposer,
    begins,
    forgets_halves,
    greets,
    rewrites,
    withholds,
)
from harness.amqp_fast.broken.fakes import CHALLENGE
from harness.amqp_fast.client.outcomes import answered, fields, stream_ends, that
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.frames import Initiation, frame
from harness.amqp_fast.wire.vocabulary import Connection
from harness.play.expect import Outcome
from scenarios.amqp_fast.connections.negotiation import foreign_octets, is_not_opened
from scenarios.registry import broken_by, scenario

NEWEST = 255
"""The highest version that an octet can name."""
REQUEST = b"GET / HTTP/1.0\r\n\r\n"
LACKS_ONE = "the server may lack just this version (842)"
HTTP_TOO = "a server of both protocols may answer in HTTP (832)"
LEFT_TO_US = "a CHALLENGE of version 0 is not above ours, and leaves it to the client whether to go on (843)"
TEST_PROTOCOL = "a server may know a test protocol (838)"
STAYS = Fault.drops("initiation: of another protocol ends the stream")


def challenges(when: Callable[[Initiation], bool]) -> Interposer:
    """Answers such an initiation as if it were a valid one."""
    return begins(frame(CHALLENGE).encode(), when=when)


def challenges_by(version: int, when: Callable[[Initiation], bool]) -> Interposer:
    """Answers such an initiation by a CHALLENGE of a version."""
    return begins(frame(CHALLENGE.replace(version=version)).encode(), when=when)


def is_letter(initiation: Initiation) -> bool:
    """Say whether it begins as AMQP/HTTP does."""
    return bytes((initiation.protocol_id,)).isalpha()


def challenged(versions: range) -> Outcome:
    """Allow a CHALLENGE of a version among these."""
    told = f"of a version from {versions.start} to {versions.stop - 1}"
    return that(answered(Connection.Challenge), told, lambda seen: seen.command.version in versions)


# -- what opens a connection ---------------------------------------------------------------------------


@scenario("fast/3.2.2.two-octets")
@broken_by("wants both in one", forgets_halves())
@broken_by("answers the first one", greets(frame(CHALLENGE).encode()))
def the_two_octets_may_come_one_by_one(server: Server) -> None:
    """Nothing comes behind 128; behind the 1 that follows later a CHALLENGE does."""
    server.begun()
    connection = server.socket()
    connection.send(bytes((Initiation().protocol_id,)))
    early = connection.link.listen(server.context.patience.quiet)
    connection.link.judged("nothing before the second octet", "something", not early)
    connection.tries(bytes((Initiation().version,)), Connection.Challenge)


@scenario("fast/3.2.2.valid-initiation-challenged")
@broken_by("says nothing", withholds(Connection.Challenge))
@broken_by("tunes at once", begins(frame(Connection.Tune()).encode()))
@broken_by("ends", Fault.drops("initiation: is answered"))
def valid_initiation_is_answered_by_a_challenge(server: Server) -> None:
    """128 1 is answered by a CHALLENGE."""
    server.socket().tries(Initiation(), Connection.Challenge)


# -- versions ------------------------------------------------------------------------------------------


@scenario("fast/3.2.2.newer-version-answered")
@broken_by("ends", Fault.changes("initiation: is answered", condition=lambda turn: turn.event.version == 1))
@broken_by("promises what it is asked for and more", rewrites(Connection.Challenge, version=0))
def newer_versions_are_answered_by_one_that_exists(server: Server) -> None:
    """Who names version 2 or 255 is answered by a CHALLENGE of a version from 1 to that."""
    server.begun()
    for version in (2, NEWEST):
        server.socket().tries(Initiation(version=version), challenged(range(1, version + 1)))


@scenario("fast/3.2.2.highest-common-version")
@broken_by("answers less to who names more", challenges_by(0, lambda each: each.version == NEWEST - 1))
@broken_by("answers by what it does not know", challenges_by(9, lambda each: each.version == NEWEST))
def the_highest_common_version_is_answered(server: Server) -> None:
    """Who names a version from the server's highest on is answered by that; who names less, by no other."""
    highest = the_version(server, NEWEST)
    for version in {1, highest, NEWEST - 1} if highest < NEWEST else {1}:
        due = fields(Connection.Challenge, version=min(version, highest))
        lacks = (stream_ends().recorded(LACKS_ONE),) if version < highest else ()
        server.socket().tries(Initiation(version=version), due, *lacks)


def the_version(server: Server, asked: int) -> int:
    """Give the version that answers one."""
    connection = server.socket()
    connection.begin(asked)
    return connection.challenge.version


@scenario("fast/3.2.2.version-zero-refused")
@broken_by("takes it for version 1", challenges(lambda initiation: initiation.version == 0))
@broken_by("stays", STAYS)
def version_zero_opens_nothing(server: Server) -> None:
    """128 0 ends the network connection."""
    server.begun()
    is_not_opened(
        server.socket(), Initiation(version=0), fields(Connection.Challenge, version=0).under(LEFT_TO_US)
    )


# -- other protocols -----------------------------------------------------------------------------------


@scenario("fast/3.2.2.http-not-challenged")
@broken_by("challenges a browser", challenges(is_letter))
@broken_by("stays", STAYS)
def http_is_not_challenged(server: Server) -> None:
    """A request of HTTP is not answered by a command, and the network connection ends."""
    server.begun()
    is_not_opened(server.socket(), REQUEST, foreign_octets().recorded(HTTP_TOO))


@scenario("fast/3.2.2.reserved-id-refused")
@broken_by("takes them for its own", challenges(lambda initiation: initiation.protocol_id == 160))
@broken_by("stays", STAYS)
def reserved_ids_open_nothing(server: Server) -> None:
    """129, 144 and 160 each end the network connection."""
    server.begun()
    for number in (129, 144, 160):
        is_not_opened(server.socket(), Initiation(number))


@scenario("fast/3.2.2.test-id-no-fast")
@broken_by("takes them for its own", challenges(lambda initiation: initiation.protocol_id > 160))
@broken_by("stays", STAYS)
def ids_for_tests_do_not_open_this_protocol(server: Server) -> None:
    """161, 200 and 255 are not answered by a CHALLENGE, and end the network connection."""
    server.begun()
    for number in (161, 200, 255):
        is_not_opened(server.socket(), Initiation(number), foreign_octets().recorded(TEST_PROTOCOL))


@scenario("fast/3.2.2.invalid-initiation-closed")
@broken_by("looks at no id", challenges(lambda _: True))
@broken_by("looks at the version only", challenges(lambda initiation: initiation.protocol_id == 127))
@broken_by("stays", STAYS)
def invalid_initiations_end_the_network_connection(server: Server) -> None:
    """0 0, 127 1 and the first letters of another AMQP each end the network connection."""
    server.begun()
    is_not_opened(server.socket(), Initiation(0, 0))
    is_not_opened(server.socket(), Initiation(127))
    is_not_opened(server.socket(), b"AM", foreign_octets().recorded(HTTP_TOO))
