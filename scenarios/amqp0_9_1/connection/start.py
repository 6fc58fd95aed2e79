"""connection.start: the version is negotiated, the server introduces itself."""

from collections.abc import Mapping

from harness.amqp0_9_1.broken.deviations import offers_header, rewrites, takes_any_header
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import HeaderReceived, closed_silently, fields, header_answered
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.field_tables import Table
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.play.expect import Outcome
from harness.wire.units import Header
from scenarios.registry import broken_by, scenario
from spec.rules import Role

OUR_HEADER = Outcome(
    "the protocol header of 0-9-1",
    lambda seen: isinstance(seen, HeaderReceived) and seen.header.octets == PROTOCOL_HEADER,
)
ANY_HEADER = Outcome(
    "eight octets that begin with AMQP", lambda seen: isinstance(seen, HeaderReceived), waits_for_end=True
)
OF_OTHERS: Mapping[str, bytes] = {
    "0-8": b"AMQP\x01\x01\x08\x00",
    "0-9": b"AMQP\x01\x01\x00\x09",
    "0-10": b"AMQP\x01\x01\x00\x0a",
    "1.0": b"AMQP\x00\x01\x00\x00",
}
"""The headers of other protocols of this name."""
SASL = b"AMQP\x03\x01\x00\x00"
SASL_OF_1_0 = Outcome(
    "the protocol header of 1.0 for SASL",
    lambda seen: isinstance(seen, HeaderReceived) and seen.header.octets == SASL,
    waits_for_end=True,
)


def is_valid(header: Header) -> bool:
    """Say whether %d0 follows the name, or the header is one of a published version that differs."""
    return header.octets[4] == 0 or header.octets in (*OF_OTHERS.values(), SASL)


VALID_HEADER = Outcome(
    "a valid protocol header",
    lambda seen: isinstance(seen, HeaderReceived) and is_valid(seen.header),
    waits_for_end=True,
)
OF_ANOTHER_VERSION = VALID_HEADER.under("4.2.2: a server may offer any version it speaks")
REQUIRED_FIELDS = ("host", "product", "version", "platform", "information")


def without_platform(properties: Table) -> Table:
    return {name: value for name, value in properties.items() if name != "platform"}


@scenario("0-9-1/connection.start.protocol-name")
@broken_by("closes without a header", offers_header(b""))
@broken_by("answers with another name", offers_header(b"AMQQ\x00\x00\x09\x01"))
@broken_by("answers without the constant zero", offers_header(b"AMQP\x01\x00\x09\x01"))
@broken_by("goes on with Start", takes_any_header())
def wrong_protocol_name_gets_a_valid_header_then_the_end(broker: Broker) -> None:
    """A header that begins with AMQQ is answered by a valid protocol header, and the socket is closed."""
    broker.started()
    stranger = broker.socket()
    stranger.tries(b"AMQQ" + PROTOCOL_HEADER[4:], OUR_HEADER, OF_ANOTHER_VERSION)
    stranger.expect(closed_silently())


@scenario("0-9-1/connection.start.client-support", role=Role.CLIENT)
@broken_by("takes it for 0-9", rewrites(Connection.Start, version_major=0, version_minor=9), Role.CLIENT)
def client_leaves_a_server_of_another_version(client: Client) -> None:
    """The client connects; where Start suggests version 99-99 it closes the socket, and says nothing else."""
    client.connection()
    another = rewrites(Connection.Start, version_major=99, version_minor=99)
    client.connecting(another).expect(closed_silently())


@scenario("0-9-1/connection.start.server-support")
@broken_by("offers a version above the one asked for", offers_header(b"AMQP\x00\x0a\x00\x00"))
@broken_by("says nothing", offers_header(b""))
@broken_by("starts with a version above", takes_any_header() + rewrites(Connection.Start, version_major=10))
def version_beyond_all_gets_a_lower_one_offered(broker: Broker) -> None:
    """A header that asks for version 9-9-9 is answered by one whose version is not above it, and the end.

    A Start of version 0-9 is legal too, and so is 1.0 where the server wants SASL before it.
    """
    broker.started()
    eager = broker.socket()
    eager.send_octets(b"AMQP\x00\x09\x09\x09")
    start = fields(Connection.Start, version_major=0, version_minor=9)
    lower = header_answered(at_most=(9, 9, 9))
    answer = eager.expect(
        lower,
        start.under("the rule stands in the method start"),
        SASL_OF_1_0.under(
            "1.0 has a protocol header of its own for SASL, and its version is not above 9-9-9"
        ),
    )
    if isinstance(answer, HeaderReceived):
        eager.expect(closed_silently())


@scenario("0-9-1/connection.start.server-properties.required-fields")
@broken_by("does not introduce itself", rewrites(Connection.Start, server_properties={}))
@broken_by("does not name its platform", rewrites(Connection.Start, server_properties=without_platform))
def server_properties_name_the_server(broker: Broker) -> None:
    """Start carries at least host, product, version, platform and information.

    The document lists `copyright` too, but only where appropriate.
    """
    told = broker.started().start.server_properties
    if "copyright" in told:
        broker.note("copyright is told as well")
    missing = [name for name in REQUIRED_FIELDS if name not in told]
    broker.judge("host, product, version, platform and information", f"no {', '.join(missing)}", not missing)


@scenario("0-9-1/connection.start.locales.required-support")
@broken_by("names no locale", rewrites(Connection.Start, locales=b""))
@broken_by("speaks another locale only", rewrites(Connection.Start, locales=b"de_DE en_USA"))
def en_us_is_among_the_locales(broker: Broker) -> None:
    """The locales of Start, delimited by spaces, contain en_US."""
    locales = broker.started().start.locales.split(b" ")
    broker.judge("the locale en_US", "locales without en_US", b"en_US" in locales)
