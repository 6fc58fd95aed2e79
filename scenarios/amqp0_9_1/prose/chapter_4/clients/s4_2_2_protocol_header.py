"""4.2.2: what a client makes of a protocol header that is another one than its own."""

from harness.amqp0_9_1.broken.deviations import spoils
from harness.amqp0_9_1.broken.frame_faults import START, before_it
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed
from harness.amqp0_9_1.server.client import Client
from harness.targets.client.ears import mishears
from scenarios.registry import broken_by, scenario
from spec.rules import Role

ANOTHER_CONSTANT, ANOTHER_REVISION = b"AMQP\x01\x00\x09\x01", b"AMQP\x00\x00\x09\x02"


@scenario("0-9-1/prose/4.2.2.all-eight-octets-used", role=Role.CLIENT)
@broken_by("looks at the name alone", mishears(ANOTHER_CONSTANT), Role.CLIENT)
@broken_by("does not look at the last octet", mishears(ANOTHER_REVISION), Role.CLIENT)
def client_takes_no_other_header_for_its_own(client: Client) -> None:
    """Headers with 1 in place of the zero, and with revision 2, come before Start: the client does not go on.

    They say that the server speaks another protocol; that Start follows changes nothing.
    """
    client.connection()
    for octets in (ANOTHER_CONSTANT, ANOTHER_REVISION):
        connection = client.connecting(spoils(START, before_it(octets)))
        told = connection_closed().under("2.2.4: before Open there is nothing to close")
        connection.expect(closed_silently(), told)
