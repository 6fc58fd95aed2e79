"""What facilities of a target promise in AMQP/Fast: each look uses what a facility gave, as scenarios do."""

from collections.abc import Mapping

from harness.amqp_fast.client.server import Server
from harness.play.promises import Look, keep_alive


def address(server: Server, given: Mapping[str, str]) -> str:
    """Check that a message to the queue waits there for a consumer."""
    queue, handle = given["address"], server.handle()
    handle.publish(queue, b"kept")
    handle.consume(queue).messages(1)
    handle.channel.ack()
    return f"a message to {queue} waits there for a consumer"


def second_vhost(server: Server, given: Mapping[str, str]) -> str:
    """Check that a connection opens there."""
    server.connection(virtual_path=given["virtual_host"])
    return f"a connection opens on {given['virtual_host']}"


def restricted_user(server: Server, given: Mapping[str, str]) -> str:
    """Check that the user logs in."""
    server.tuned(user=given["user"], password=given["password"])
    return f"{given['user']} logs in"


LOOKS: Mapping[str, Look[Server]] = {
    "address": address,
    "second-vhost": second_vhost,
    "restricted-user": restricted_user,
    "keep-alive": keep_alive,
}
"""By facility."""
