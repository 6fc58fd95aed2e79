"""What facilities of a target promise in AMQP/Fast: each look uses what a facility gave, as scenarios do."""

from collections.abc import Mapping
from typing import Any

from harness.amqp_fast.client.server import Server
from harness.play.expect import ControlFailed
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


def idle_timeout(server: Server, given: Mapping[str, str]) -> str:
    """Check that the user is asked for a heartbeat."""
    delay = _tune(server, given).get("HEARTBEAT", 0)
    if not isinstance(delay, int) or delay <= 0:
        raise ControlFailed("a TUNE that asks for a heartbeat", "one that asks for none")
    return f"a heartbeat of {delay} s is asked for"


def unlimited_user(server: Server, given: Mapping[str, str]) -> str:
    """Check that the user is told no limit to channels and handles."""
    options = _tune(server, given)
    limits = {name: options.get(name) for name in ("CHANNEL_MAX", "HANDLE_MAX")}
    if any(limits.values()) or None in limits.values():
        raise ControlFailed("a TUNE without limits", f"one that tells {limits}")
    return f"{given['user']} is told no limit"


def _tune(server: Server, given: Mapping[str, str]) -> Mapping[str, Any]:
    told = {name: given[name] for name in ("user", "password") if name in given}
    options: Mapping[str, Any] = server.tuned(**told).tune.options
    return options


LOOKS: Mapping[str, Look[Server]] = {
    "address": address,
    "second-vhost": second_vhost,
    "restricted-user": restricted_user,
    "idle-timeout": idle_timeout,
    "unlimited-user": unlimited_user,
    "keep-alive": keep_alive,
}
"""By facility."""
