"""4.2.2: the protocol header, and what a server answers to another one."""

from harness.amqp0_9_1.broken.deviations import Interposer, changes, drops, offers_header, takes_any_header
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Closed, Unreadable, closed_silently
from harness.amqp0_9_1.client.transcript import FOREIGN, Passage
from harness.amqp0_9_1.peer.events import ConnectionState
from harness.amqp0_9_1.wire.frames import HEARTBEAT, PROTOCOL_HEADER, Frame, method_frame
from harness.play.expect import Outcome
from harness.play.watching import Enough, Found, Gaps, State, came
from harness.wire.units import Garbage, Header
from scenarios.amqp0_9_1.connection.start import (
    ANY_HEADER,
    OF_ANOTHER_VERSION,
    OUR_HEADER,
    VALID_HEADER,
    is_valid,
)
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

REFUSES = "header: another one is answered with ours and the end"
STAYS = changes(REFUSES, next=ConnectionState.EXPECT_HEADER)
SOMETHING_ELSE = Outcome("octets of another protocol", lambda seen: isinstance(seen, Unreadable))
ANOTHER_CONSTANT = b"AMQP\x07\x00\x09\x01"
BEAT = Frame(HEARTBEAT, 0, b"").encode()
HIGHEST_NUMBER = 99
"""Of a version's numbers, which are written with two digits each (1.4.2)."""


@watch(
    "0-9-1/prose/4.2.2.header-layout",
    during="0-9-1/prose/4.2.2.unsupported-version-refused",
    looks_at=came(Header, Garbage, FOREIGN),
)
@broken_by("numbers its version beyond 99", offers_header(b"AMQP\x00\x00\x09\xff"))
@broken_by("writes its name in lower case", offers_header(b"Amqp\x00\x00\x09\x01"))
@broken_by("writes another constant behind its name", offers_header(ANOTHER_CONSTANT))
def header_has_name_and_version(each: Passage) -> Found:
    """Every header the server sends is AMQP, the octet zero, and three numbers below 100.

    Those of other versions that are published, some with another octet, are headers as well.
    """
    if isinstance(each.unit, Header):
        told = "-".join(map(str, each.unit.version))
        held = max(each.unit.version) <= HIGHEST_NUMBER and is_valid(each.unit)
        return held or f"version {told} behind octet {each.unit.octets[4]} at {each.at:.4f} s"
    if isinstance(each.unit, Garbage) and each.unit.octets[:1] == PROTOCOL_HEADER[:1]:
        return f"eight octets that do not begin with AMQP at {each.at:.4f} s"
    return None


@watch(
    "0-9-1/prose/4.2.2.header-begins-connection",
    during=TALK,
    looks_at=came(Header, Garbage, Frame, FOREIGN),
    start=State,
    gap=Gaps.STOPS,
    role=Role.CLIENT,
)
@broken_by("sends a heartbeat first", Interposer(header_to_server=BEAT + PROTOCOL_HEADER), Role.CLIENT)
@broken_by("says another name", Interposer(header_to_server=b"HTTP" + PROTOCOL_HEADER[4:]), Role.CLIENT)
def client_begins_with_the_header(_: State, each: Passage) -> Enough:
    """What the client sends first is a protocol header."""
    return Enough(isinstance(each.unit, Header) or f"something else at {each.at:.4f} s")


@scenario("0-9-1/prose/4.2.2.other-protocols-accepted", slow=True)
@broken_by("speaks HTTP", offers_header(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
@broken_by("says nothing", offers_header(b""))
def http_is_answered_somehow(broker: Broker) -> None:
    """A GET request of HTTP is answered with a protocol header, in HTTP, or with the end: all recorded."""
    broker.started()
    broker.socket().tries(
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        (ANY_HEADER | SOMETHING_ELSE | closed_silently()).recorded(),
    )


@scenario("0-9-1/prose/4.2.2.unknown-protocol-refused", slow=True)
@broken_by("closes without a header", offers_header(b""))
@broken_by("answers with something else", offers_header(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
@broken_by("answers without the constant zero", offers_header(ANOTHER_CONSTANT))
@broken_by("goes on with Start", takes_any_header())
@broken_by("leaves the socket open", STAYS)
@broken_by("says nothing", drops(REFUSES))
def unknown_protocol_gets_a_header_and_the_end(broker: Broker) -> None:
    """Octets of no protocol, AMQP in lower case and a method frame each get a protocol header, then the end.

    The header of 0-9-1 is preferred.
    """
    start_ok = broker.started().start_ok(response=b"")
    for octets in (b"NONE\x00\x00\x09\x01", b"amqp\x00\x00\x09\x01", method_frame(0, start_ok).encode()):
        stranger = broker.socket()
        stranger.tries(octets, OUR_HEADER, OF_ANOTHER_VERSION)
        stranger.expect(closed_silently())


@scenario("0-9-1/prose/4.2.2.unsupported-version-refused", slow=True)
@broken_by("closes without a header", offers_header(b""))
@broken_by("answers without the constant zero", offers_header(ANOTHER_CONSTANT))
@broken_by("goes on with Start", takes_any_header())
@broken_by("leaves the socket open", STAYS)
def unsupported_version_gets_a_header_and_the_end(broker: Broker) -> None:
    """Versions 0-99-1 and 99-0-0 are answered with a header each, of whatever version, then the end."""
    broker.started()
    for version in (b"\x00\x63\x01", b"\x63\x00\x00"):
        eager = broker.socket()
        eager.tries(PROTOCOL_HEADER[:5] + version, VALID_HEADER)
        eager.expect(closed_silently())


@scenario("0-9-1/prose/4.2.2.diagnostic-printed", slow=True)
@broken_by("says what it did not like", offers_header(PROTOCOL_HEADER + b"no such version\r\n"))
def refusal_may_be_explained(broker: Broker) -> None:
    """Between the header a server refuses with and the end there may be a message: recorded."""
    broker.started()
    eager = broker.socket()
    eager.tries(PROTOCOL_HEADER[:5] + b"\x63\x00\x00", ANY_HEADER, closed_silently())
    seen = eager.expect(closed_silently() | SOMETHING_ELSE)
    broker.judge("no message before the end", "a message before the end", isinstance(seen, Closed))


@scenario("0-9-1/prose/4.2.2.all-eight-octets-used", slow=True)
@broken_by("goes on with Start", takes_any_header())
@broken_by("says nothing", drops(REFUSES))
def every_octet_of_the_header_counts(broker: Broker) -> None:
    """Headers with 1 in place of the zero, and with revision 2, are not taken for ours: no Start comes."""
    broker.started()
    for octets in (b"AMQP\x01\x00\x09\x01", b"AMQP\x00\x00\x09\x02"):
        broker.socket().tries(octets, ANY_HEADER, closed_silently().under("4.2.2: another one is not served"))
