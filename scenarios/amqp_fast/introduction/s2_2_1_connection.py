"""2.2.1 Connection, 2.2.2 Security, 2.2.3 Virtual Hosts."""

from collections.abc import Iterator
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    greets,
    hears,
    ignores,
    rewrites,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.outcomes import (
    CLOSES,
    WORDLESS,
    Received,
    answered,
    closed,
    connection_ends,
    is_error,
    replied,
    silence,
    stream_ends,
    that,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.events import ConnectionState, Early
from harness.amqp_fast.peer.tables.negotiation import is_ours
from harness.amqp_fast.peer.turn import Row
from harness.amqp_fast.wire.frames import FrameReader, Initiation, Unit, frame
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from scenarios.amqp_fast.talk import indexed
from scenarios.registry import broken_by, scenario

HALF = 6
"""Octets of a command that are sent ahead of the others."""
REFUSED_LATER = "a host may refuse what is done in it, and not that it is opened"


# -- the connection ------------------------------------------------------------------------------------


def by_segments(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Forgets the part of a command that a segment ends in."""
    yield from reader.feed(octets)
    reader.pending.clear()


def whole_ones(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Forgets the part of a command behind a whole one."""
    met = list(reader.feed(octets))
    if met:
        reader.pending.clear()
    yield from met


def logs_in(connection: FastConnection, pieces: int) -> None:
    """Judge that all steps up to CONNECTION REPLY are answered, sent in `pieces` octets at a time."""
    in_pieces(connection, Initiation().encode(), pieces)
    connection.expect(Connection.Challenge)
    seen: Any = Connection.Challenge()
    while isinstance(seen, Connection.Challenge):
        in_pieces(connection, frame(connection.response()).encode(), pieces)
        seen = connection.expect(answered(Connection.Tune, Connection.Challenge))
    opening = connection.opening()
    in_pieces(connection, frame(Connection.Tune()).encode() + frame(opening).encode(), pieces)
    connection.expect(replied(Connection.Reply, opening.confirm_tag))
    connection.is_open()


def in_pieces(connection: FastConnection, octets: bytes, size: int) -> None:
    """Send octets, so many in a write."""
    for start in range(0, len(octets), size):
        connection.send(octets[start : start + size])


@scenario("fast/2.2.1.octets-not-segments")
@broken_by("forgets the part of a command that a segment ends in", Fault.swaps(cut=by_segments))
@broken_by("forgets the part of a command behind a whole one", Fault.swaps(cut=whole_ones))
def segments_have_no_meaning(server: Server) -> None:
    """The opening is answered alike in few writes and octet by octet, and a command in two halves, too."""
    server.connection()
    logs_in(server.socket(), 1)
    torn = server.socket()
    logs_in(torn, 1 << 16)
    channel = torn.unopened()
    handle = channel.unopened()
    first, second = Channel.Open(channel.id, torn.tag()), handle.opening()
    octets = frame(second).encode()
    torn.send(first, octets[:HALF])
    torn.send(octets[HALF:])
    channel.expect(replied(Channel.Reply, first.confirm_tag))
    channel.expect(replied(Handle.Reply, second.confirm_tag))


def is_alone(turn: AnyTurn) -> bool:
    """Takes an initiation only while no other connection is open."""
    return is_ours(turn) and all(each is turn.connection for each in turn.peer.open_connections())


@scenario("fast/2.2.1.accepts-connections")
@broken_by("takes one at a time", Fault.changes("initiation: is answered", condition=is_alone))
def connections_are_served_side_by_side(server: Server) -> None:
    """Three connections are open together; on each a channel is opened before all and behind all."""
    connections = [server.socket() for _ in range(3)]
    for each in connections:
        each.tries(Initiation(), Connection.Challenge)
        each.authenticate()
        each.open()
        opens(each)
    for each in connections:
        opens(each)
        each.tries(Connection.Close(OK), Connection.Close)


def opens(connection: FastConnection) -> None:
    """Judge that a channel is opened."""
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id))


def one_octet_will_do(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Takes the first octet for the whole initiation."""
    if not reader.initiated and len(octets) == 1:
        reader.initiated = True
        yield octets, Initiation(octets[0])
        return
    yield from reader.feed(octets)


@scenario("fast/2.2.1.silent-before-initiation")
@broken_by("speaks first", greets(frame(Connection.Challenge(1, "PLAIN")).encode()))
@broken_by("answers one octet", Fault.swaps(cut=one_octet_will_do))
def nothing_comes_before_the_initiation(server: Server) -> None:
    """Nothing comes before the first octet of the initiation and before the second, then the challenge."""
    connection = server.socket()
    first, second = Initiation().encode()
    connection.expect(silence())
    connection.tries(bytes((first,)), silence())
    connection.tries(bytes((second,)), Connection.Challenge)


# -- security ------------------------------------------------------------------------------------------


HASTY: Row[Early] = Row(
    "negotiation: obeys what is early",
    ConnectionState.CHALLENGED,
    Early,
    answer=lambda _: (Channel.Reply(1, 1, OK),),
)


def is_elsewhere(command: Connection.Open) -> bool:
    return command.virtual_path not in (b"", b"/")


@scenario("fast/2.2.2.nothing-before-login")
@broken_by(
    "obeys CONNECTION OPEN",
    Fault.changes("negotiation: ends for what is not expected", answer=lambda _: (Connection.Reply(1, OK),)),
)
@broken_by("opens a channel", Fault.inserts("negotiation: ends for what is not expected", HASTY))
@broken_by(
    "takes no notice",
    Fault.drops("negotiation: ends for what is not expected"),
)
def nothing_is_obeyed_before_the_login(server: Server) -> None:
    """CONNECTION OPEN, CHANNEL OPEN and HANDLE OPEN in place of the response end the connection."""
    server.channel()
    for early in (Connection.Open(1, server.endpoint.virtual_host), Channel.Open(1, 1), Handle.Open(1, 1, 1)):
        connection = server.begun()
        channel = connection.unopened(1)
        channel.tries(early, *connection_ends())


# -- virtual hosts -------------------------------------------------------------------------------------


def failed_reply() -> Any:
    """Allow CONNECTION REPLY with a code that tells an error."""
    return that(
        answered(Connection.Reply),
        "with a reply code of 3xx to 5xx",
        lambda seen: isinstance(seen, Received) and is_error(seen.command.reply_code),
    )


@scenario("fast/2.2.3.unknown-host-refused")
@broken_by("opens any", Fault.drops("open: of an unknown path is refused"))
@broken_by("says nothing", ignores(Connection.Open, when=is_elsewhere))
@broken_by("closes as if all were well", rewrites(Connection.Close, reply_code=OK))
def unknown_host_is_refused(server: Server) -> None:
    """CONNECTION OPEN of a path that nobody has is refused."""
    server.connection()
    unknown = server.tuned()
    unknown.tries(
        unknown.opening(virtual_path="/" + server.name("host")),
        closed(Connection.Close),
        stream_ends().recorded(WORDLESS),
        failed_reply().recorded("a reply may tell it"),
    )


def is_another(turn: AnyTurn) -> bool:
    """Knows users on the first host only."""
    return is_elsewhere(turn.event)


@scenario("fast/2.2.3.same-login-for-all-hosts")
@broken_by(
    "refuses the login on the other host",
    Fault.changes("open: of an unknown path is refused", condition=is_another),
)
def one_login_is_good_for_all_hosts(server: Server) -> None:
    """With the same response two hosts are opened, each named in CONNECTION OPEN alone."""
    for path in (server.endpoint.virtual_host, server.facility("second-vhost")["virtual_host"]):
        connection = server.tuned()
        opening = connection.opening(virtual_path=path)
        connection.tries(opening, replied(Connection.Reply, opening.confirm_tag))


@scenario("fast/2.2.3.access-per-host")
@broken_by("lets everybody in", Fault.drops("open: of an unknown path is refused"))
@broken_by("says nothing", ignores(Connection.Open, when=is_elsewhere))
def access_is_given_per_host(server: Server) -> None:
    """A user who may use one host only opens that, and is refused on the other, or what is done there."""
    given = server.facility("restricted-user")
    user = {"user": given["user"], "password": given["password"]}
    allowed = server.tuned(**user)
    allowed.open()
    barred = server.tuned(**user)
    opening = barred.opening(virtual_path=server.facility("second-vhost")["virtual_host"])
    entered = replied(Connection.Reply, opening.confirm_tag).recorded(REFUSED_LATER)
    if isinstance(barred.tries(opening, *connection_ends(), failed_reply(), entered), Connection.Reply):
        is_barred(barred)


def is_barred(connection: FastConnection) -> None:
    """Judge that nothing can be sent and consumed on a connection, though it is open."""
    connection.is_open()
    channel = connection.unopened()
    handle = channel.unopened()
    channel.send(Channel.Open(channel.id), Handle.Open(channel.id, handle.id, 0, True, True))
    channel.tries(handle.consuming("", dynamic=True), *[closed(each) for each in CLOSES], stream_ends())


@scenario("fast/2.2.3.hosts-apart")
@broken_by("has one host for all", hears(Connection.Open, virtual_path=b""))
def hosts_have_their_own_queues(server: Server) -> None:
    """Queues of one name on two hosts each get what was sent on their own, and list nothing of the other."""
    name = server.name("queue")
    second = server.facility("second-vhost")["virtual_host"]
    hosts = {
        body: server.connection(virtual_path=path).channel().handle()
        for body, path in ((b"one", server.endpoint.virtual_host), (b"two", second))
    }
    for each in hosts.values():
        each.ask(each.consuming(name, dynamic=True, prefetch=1))
    for body, each in hosts.items():
        each.publish(name, body, body)
    for body, each in hosts.items():
        each.hears(body)
        listed = indexed(each, name)
        server.judge("one more message of its own", f"{len(listed)}", len(listed) == 1)
        each.stays_quiet()
