"""2.2 Version Negotiation: protocol headers, equal ones and others."""

from collections.abc import Callable, Iterator

from harness.amqp1_0.broken.deviations import (
    changes,
    ends_by,
    of_client,
    offers_header,
    replaces,
    takes_any_header,
    withholds,
)
from harness.amqp1_0.broken.faults import does, replies, reset, saying, stop_reading, together, writing
from harness.amqp1_0.broken.loose import Turn
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    header,
    header_name,
    other_header,
    other_id,
    stream_ended,
    the_very_header,
)
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.peer.events import ConnectionState, Entered
from harness.amqp1_0.peer.tables.connection import close_socket
from harness.amqp1_0.peer.turn import Reply
from harness.amqp1_0.wire.frames import (
    AMQP,
    PROTOCOL_HEADER,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
    Frame,
    empty_frame,
)
from harness.amqp1_0.wire.performatives import Open, SaslMechanisms
from harness.peers.events import Waited
from harness.play.expect import Inconclusive
from harness.play.watching import Enough, Found, Gaps, State, came, went
from harness.wire.journal import Direction
from harness.wire.units import Garbage, Header
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

NEWER = b"AMQP\x00\x01\x01\x00"
"""AMQP 0 1.1.0, which does not exist."""
OTHER_REVISION = b"AMQP\x00\x01\x00\x01"
OTHER_VERSIONS = (NEWER, b"AMQP\x00\x02\x00\x00", b"AMQP\x00\x00\x00\x00", OTHER_REVISION)
NO_SUCH_ID = b"AMQP\xff\x01\x00\x00"
OTHER_IDS = (b"AMQP\x01\x01\x00\x00", NO_SUCH_ID)
HTTP = b"GET / HT"
"""The first eight octets of a request line."""
VERSION = Header(PROTOCOL_HEADER).version

SAME = "header: is answered with the same"
ANOTHER = "header: another one is answered with one we accept"
SAYS_NOTHING = changes(ANOTHER, answer=None, next=ConnectionState.END)
LAYERS = {Header(PROTOCOL_HEADER).protocol_id: AMQP, Header(SASL_HEADER).protocol_id: SASL}
"""The type of frames behind a protocol header, by its id."""
EMPTY_FIRST = empty_frame().encode() + PROTOCOL_HEADER


def opens_amqp(sent: Header) -> bool:
    """Match the header of AMQP itself, not of a layer below."""
    return sent.protocol_id == Header(PROTOCOL_HEADER).protocol_id


def opens_sasl(sent: Header) -> bool:
    return sent.octets == SASL_HEADER


def is_of_another_revision(sent: Header) -> bool:
    """Say whether it is AMQP 0 1.0 of another revision than 0."""
    return sent.version[:2] == VERSION[:2] and sent.version != VERSION and opens_amqp(sent)


def is_newer(sent: Header) -> bool:
    return sent.version[0] > VERSION[0] and opens_amqp(sent)


# -- what the server sends -----------------------------------------------------------------------------


def in_its_layer(seen: list[Passage], fits: Callable[[Passage, int], Found]) -> Iterator[Found]:
    """Give how what came fits behind its header, where we sent the same header; another begins a layer.

    Which of the two came first does not matter: a server may speak first.
    """
    sent = [each.unit for each in seen if each.direction is Direction.SENT]
    asked = {unit.octets for unit in sent if isinstance(unit, Header)}
    layer, begun = None, b""
    for each in seen:
        unit = each.unit
        if each.direction is Direction.SENT:
            continue
        due = LAYERS.get(unit.protocol_id) if isinstance(unit, Header) else layer
        if layer is not None and due == layer and begun in asked:  # the header of this layer has come before
            yield fits(each, layer)
        if isinstance(unit, Header):
            layer, begun = due, unit.octets


@watch(
    "1-0/2.2.header-first",
    during="1-0/2.2.supported-version-proceeds",
    looks_at=came(Header, Frame, Garbage),
    start=State,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by(
    "sends an empty frame before its header",
    of_client(offers_header(EMPTY_FIRST)),
    Role.CLIENT,
)
@broken_by("sends no header", offers_header(b""))
@broken_by("sends an empty frame before its header", offers_header(EMPTY_FIRST))
def header_comes_first(_: State, each: Passage) -> Enough:
    """The first that the server sends on a connection is a protocol header."""
    unit = each.unit
    return Enough(isinstance(unit, Header) or f"first comes {type(unit).__name__.lower()} at {each.at:.4f} s")


class Headers(State):
    """The headers that we have sent, and the server's as long as nothing has come behind it."""

    def __init__(self) -> None:
        self.asked: set[bytes] = set()
        self.last: Header | None = None
        self.begun = False


@watch(
    "1-0/2.2.header-layout",
    during="1-0/2.2.unsupported-version-answered",
    looks_at=came(Header, Frame, Garbage) + went(Header),
    start=Headers,
    gap=Gaps.STOPS,
)
@broken_by("writes the name in lower case", offers_header(b"amqp\x00\x01\x00\x00"))
@broken_by("accepts the version that does not exist", replies(ANOTHER, Header(NEWER)))
@broken_by("proceeds with SASL behind the header of AMQP", offers_header(PROTOCOL_HEADER, opens_sasl))
@broken_by("proceeds behind another revision", offers_header(OTHER_REVISION, opens_amqp))
@broken_by("proceeds behind an id that nobody defines", offers_header(NO_SUCH_ID, opens_amqp))
def headers_have_their_form(headers: Headers, each: Passage) -> Found:
    """What comes in place of a header is one, and equal to ours only if it is of 1.0.0; then it proceeds."""
    unit, asked = each.unit, headers.asked
    if each.direction is Direction.SENT:
        asked |= {unit.octets} if isinstance(unit, Header) else set()
        return None
    first, headers.begun = not headers.begun, True
    if isinstance(unit, Header):
        # A header sent before ours accepts nothing yet.
        headers.last = unit if asked else None
        exists = unit.octets not in asked or unit.version == VERSION
        return exists or f"{header_name(unit)} accepted at {each.at:.4f} s"
    if first and isinstance(unit, Garbage):
        return f"what comes first is no header of eight octets, at {each.at:.4f} s"
    if headers.last is None:
        return None
    last, headers.last = headers.last, None
    return last.octets in asked or f"it proceeds after {header_name(last)}, not ours, at {each.at:.4f} s"


@watch(
    "1-0/2.2.data-matches-header",
    during="1-0/2.4.2.pipelining-indistinguishable",
    looks_at=came(Header, Frame, Garbage) + went(Header),
    whole=True,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("sends text behind the header", of_client(replaces(Open, b"GET / HTTP/1.1\r\n")), Role.CLIENT)
@broken_by("sends text behind the header", replaces(Open, b"HTTP/1.1 400 Bad Request\r\n"))
@broken_by("sends its open as a SASL frame", replaces(Open, Frame(SASL, 0, Open("peer").encode())))
@broken_by("sends its header twice", offers_header(2 * PROTOCOL_HEADER, opens_amqp))
def data_is_of_the_version_of_the_header(seen: list[Passage]) -> Iterator[Found]:
    """Behind equal headers come whole frames only: AMQP frames behind id 0, SASL frames behind id 3."""
    return in_its_layer(seen, whole_frame_of_type)


def whole_frame_of_type(each: Passage, due: int) -> Found:
    """Say whether a whole frame of the type that is due stands there."""
    unit = each.unit
    if isinstance(unit, Frame) and unit.type == due:
        return True
    told = f"a frame of type {unit.type}" if isinstance(unit, Frame) else "what is no whole frame"
    return f"{told} where frames of type {due} are due, at {each.at:.4f} s"


# -- headers that differ -------------------------------------------------------------------------------


@scenario("1-0/2.2.mismatch-closes")
@broken_by("keeps the connection", ends_by("never"))
@broken_by("takes every header for its own", takes_any_header())
@broken_by("accepts the version that does not exist", replies(ANOTHER, Header(NEWER)))
@broken_by("does not look at the revision", takes_any_header(when=is_of_another_revision))
@broken_by("takes all versions above its own", takes_any_header(when=is_newer))
def headers_that_differ_end_the_stream(container: Container) -> None:
    """AMQP 0 1.1.0, 2.0.0, 0.0.0 and 1.0.1 are each answered by another header or by none, and then the
    server ends its stream.
    """
    container.negotiated()
    for asked in OTHER_VERSIONS:
        connection = container.socket()
        seen = connection.tries(asked, other_header(asked) | stream_ended())
        if not stream_ended().matches(seen):
            connection.expect(stream_ended())


@scenario("1-0/2.2.mismatch-reads-on")
@broken_by("closes its socket at once", changes("END: TCP Close", close_socket, stop_reading))
@broken_by("resets the connection", changes("END: TCP Close", reset))
def the_server_reads_on_until_we_end(container: Container) -> None:
    """After the server has ended its stream 64 octets and the end of ours meet no reset."""
    container.negotiated()
    connection = container.socket()
    connection.send(NEWER)
    connection.until_end()
    if connection.link.ended is None:
        raise Inconclusive("the server does not end its stream, which 1-0/2.2.mismatch-closes judges")
    connection.send(bytes(64))
    # Behind both ends no reset can be seen any more.
    reset = connection.met_reset()
    connection.shut()
    connection.judge("octets behind the end are read", "a reset", not (reset or connection.met_reset()))


def comes_again(turn: Turn) -> bool:
    """Say whether it is a later connection than the first, the control, on which nobody has logged in."""
    return turn.connection.number > 1 and not turn.connection.user


def give_up(turn: Turn) -> None:
    """Waits for the client, and not for long."""
    turn.connection.wait(0.1)


@scenario("1-0/2.2.server-may-wait")
@broken_by(
    "gives up on a client that waits",
    together(
        does(ConnectionState.START, Entered, comes_again, give_up),
        does(ConnectionState.START, Waited, to=ConnectionState.END),
    ),
)
@broken_by("sends no open", withholds(Open))
def the_server_may_wait_for_our_header(container: Container) -> None:
    """Whether the server's header comes by itself is recorded; after ours header and open come as ever."""
    container.negotiated()
    late = container.socket()
    late.listen(container.context.patience.quiet)
    container.note(f"the server's header {'comes by itself' if late.heard() else 'waits for ours'}")
    if container.layers.sasl:
        late.tries(SASL_HEADER, header(SASL_HEADER))
        late.control("sasl-mechanisms", SaslMechanisms)
        late.authenticate()
    late.tries(PROTOCOL_HEADER, header())
    late.tries(late.the_open(), Open)


@scenario("1-0/2.2.supported-version-proceeds")
@broken_by("answers with another version", offers_header(NEWER, opens_amqp))
@broken_by("sends another version and ends", replies(SAME, Header(NEWER)))
@broken_by("sends the header and no open", withholds(Open))
@broken_by("ends without a word", changes(SAME, answer=None, next=ConnectionState.END))
def the_supported_version_comes_back_and_proceeds(container: Container) -> None:
    """AMQP 0 1.0.0 is answered by the same eight octets, an open by an open, and a begin by a begin."""
    connection = container.secured()
    connection.tries(PROTOCOL_HEADER, the_very_header())
    connection.tries(connection.the_open(), Open)
    connection.goes_on()


# -- what is offered instead ---------------------------------------------------------------------------


@scenario("1-0/2.2.unsupported-version-answered")
@broken_by("ends without a header", SAYS_NOTHING)
@broken_by("answers with a version that does not exist", replies(ANOTHER, Header(NEWER)))
@broken_by("does not look at the revision", takes_any_header(when=is_of_another_revision))
@broken_by("sends a header and stays", ends_by("never"))
def a_version_that_is_not_supported_is_answered_by_one_that_is(container: Container) -> None:
    """Versions 1.1.0, 2.0.0, 0.0.0 and 1.0.1 are each answered by another header, then the stream ends."""
    container.negotiated()
    for asked in OTHER_VERSIONS:
        connection = container.socket()
        connection.tries(
            asked, header(), other_header(asked).recorded("every protocol header the server speaks is legal")
        )
        connection.expect(stream_ended())


@scenario("1-0/2.2.foreign-header-answered")
@broken_by("ends without a header", SAYS_NOTHING)
@broken_by(
    "answers in HTTP",
    changes(
        ANOTHER,
        writing(b"HTTP/1.1 400 Bad Request\r\n\r\n", behind=False),
        answer=None,
        next=ConnectionState.END,
    ),
)
@broken_by("sends a header and stays", ends_by("never"))
def what_is_no_header_is_answered_by_one(container: Container) -> None:
    """Eight octets of HTTP are answered by a protocol header, and then the stream ends."""
    container.negotiated()
    connection = container.socket()
    connection.tries(HTTP, other_header(HTTP))
    connection.expect(stream_ended())


def offer_what_is_refused(turn: Turn) -> Reply:
    """Offers TLS to everybody but those who ask for it."""
    asked = turn.connection.header
    return (Header(PROTOCOL_HEADER if asked == TLS_HEADER else TLS_HEADER),)


@scenario("1-0/2.2.offered-header-works")
@broken_by("offers what it refuses", changes(ANOTHER, answer=offer_what_is_refused))
@broken_by("offers what it ends without a word", changes(SAME, answer=None, next=ConnectionState.END))
@broken_by("accepts the header and no open", withholds(Open))
def the_header_that_is_offered_is_accepted(container: Container) -> None:
    """The header that answers AMQP 0 1.1.0 comes back when it is sent, and with id 0 an open is answered."""
    offered = the_offer(container).octets
    again = container.socket()
    again.tries(offered, header(offered))
    if offered == PROTOCOL_HEADER:
        again.tries(again.the_open(), Open)


def the_offer(container: Container) -> Header:
    """Give the header of AMQP 1.0 that is offered to who asks for 1.1.0."""
    connection = container.socket()
    connection.send(NEWER)
    connection.until_end()
    offers = [*connection.link.received()]
    if not offers or not isinstance(offers[0], Header):
        raise Inconclusive("no header comes, which 1-0/2.2.unsupported-version-answered judges")
    if offers[0].version != VERSION:
        container.inapplicable(f"what is offered is no header of AMQP 1.0: {header_name(offers[0])}")
    return offers[0]


# -- protocol ids --------------------------------------------------------------------------------------


@scenario("1-0/2.2.protocol-id-refused")
@broken_by("ends without a header", SAYS_NOTHING)
@broken_by("takes every header for its own", takes_any_header())
@broken_by("answers with the id it refuses", replies(ANOTHER, Header(NO_SUCH_ID)))
@broken_by("sends a header and stays", ends_by("never"))
def an_id_that_is_not_accepted_is_answered_by_one_that_is(container: Container) -> None:
    """The ids 1 and 255 are each answered by a header with another id, and then the stream ends.

    So is id 0 where the server wants a layer first.
    """
    container.negotiated()
    for asked in OTHER_IDS:
        refuses_id(container.socket(), asked)
    bare = container.socket()
    if not header().matches(bare.tries(PROTOCOL_HEADER, header() | other_id(0))):
        bare.expect(stream_ended())


def refuses_id(connection: AmqpConnection, asked: bytes) -> None:
    """Judge that the answer is a header with another id, and that only the end of the stream follows."""
    connection.tries(asked, other_id(Header(asked).protocol_id))
    connection.expect(stream_ended())


@scenario("1-0/2.2.any-protocol-id")
@broken_by("offers none", SAYS_NOTHING)
@broken_by("offers the one it refuses", changes(ANOTHER, answer=saying(Header(NO_SUCH_ID))))
def the_id_that_is_offered_is_the_servers_choice(container: Container) -> None:
    """AMQP 255 1.0.0 is answered by another id, which is recorded."""
    container.negotiated()
    answer = container.socket().tries(NO_SUCH_ID, other_id(Header(NO_SUCH_ID).protocol_id))
    container.note(f"the server offers {header_name(answer.header)}")
