"""2.7 Performatives, of clients: limits that the server states."""

from harness.amqp1_0.broken.deviations import rewrites
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.frames import MIN_MAX_FRAME_SIZE, Frame
from harness.amqp1_0.wire.performatives import Open
from scenarios.registry import broken_by, scenario
from spec.rules import Role


@scenario("1-0/2.7.1.frame-size-respected", role=Role.CLIENT)
@broken_by("takes any size for agreed", rewrites(Open, max_frame_size=65536), Role.CLIENT)
def a_client_sends_no_frame_that_is_too_large(client: Client) -> None:
    """To a server that takes frames of 512 octets a message of 10,000 comes in frames as small."""
    connection = client.connection(rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE))
    connection.session().sender().send({"fill": 10_000})
    frames = (each for each in connection.link.received() if isinstance(each, Frame))
    largest = max(len(each.encode()) for each in frames)
    client.judge(
        "frames of at most 512 octets", f"a frame of {largest} octets", largest <= MIN_MAX_FRAME_SIZE
    )
