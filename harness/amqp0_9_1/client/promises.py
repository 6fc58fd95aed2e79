"""What facilities of a target promise in AMQP 0-9-1: each look uses what a facility gave, as scenarios do.

A look raises Stop where the promise is not kept, KeyError where the facility did not give what is needed.
"""

from collections.abc import Mapping

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.play.expect import ControlFailed, Unmet
from harness.play.promises import Look, keep_alive


def second_host(broker: Broker, given: Mapping[str, str]) -> str:
    """Check that the same user can open another virtual host."""
    host = given["virtual_host"]
    if host == broker.endpoint.virtual_host:
        raise ControlFailed("the second virtual host", f"{host}, which is the first one")
    broker.connection(virtual_host=host).channel()
    return f"virtual host {host} is opened"


def restricted_user(broker: Broker, given: Mapping[str, str]) -> str:
    """Check that another user logs in and is not let into the virtual host."""
    restricted = broker.socket(user=given["user"], password=given["password"])
    restricted.begin()
    restricted.authenticate()
    host = restricted.endpoint.virtual_host
    restricted.send(restricted.tune_ok())
    restricted.send(Connection.Open(host))
    try:
        restricted.expect(connection_closed() | closed_silently())
    except Unmet as failure:
        raise ControlFailed(f"connection.open of {host} by the restricted user", failure.actual) from None
    return f"{given['user']} logs in and is refused virtual host {host}"


def lifted_alarm(broker: Broker, given: Mapping[str, str]) -> str:
    """Check that messages are taken and handed out again."""
    del given
    channel = broker.channel()
    queue = channel.declare_queue(exclusive=True)
    channel.publish(b"after the alarm", key=queue)
    channel.depth(queue)
    if channel.get(queue) is None:
        raise ControlFailed("a message published after the alarm", "an empty queue")
    return "lifted: a message is taken and handed out again"


def priority_queue(broker: Broker, given: Mapping[str, str]) -> str:
    """Check that a queue can be declared with priorities; whether it heeds them a rule judges."""
    arguments = broker.priorities(given)
    broker.channel().declare_queue(exclusive=True, arguments=arguments)
    return f"a queue with {arguments or 'no arguments'} is declared"


def dead_letter_exchange(broker: Broker, given: Mapping[str, str]) -> str:
    """Check that a queue can be declared that names an exchange for its dead messages."""
    channel, argument = broker.channel(), given["argument"]
    channel.declare_queue(exclusive=True, arguments={argument: "amq.fanout"})  # leaves none
    return f"a queue with {argument} is declared"


def own_port(broker: Broker, given: Mapping[str, str]) -> str:
    """Check that a port is named."""
    broker.channel()
    if not given["port"].isdecimal():
        raise ControlFailed("the port that it takes by itself", given["port"] or "nothing")
    return "a port is named"


def log(broker: Broker, given: Mapping[str, str]) -> str:
    """Check that there is a log and something in it."""
    del broker
    if not given["log"]:
        raise ControlFailed("the log", "nothing")
    return f"a log of {len(given['log'].splitlines())} lines"


LOOKS: Mapping[str, Look[Broker]] = {
    "second-vhost": second_host,
    "restricted-user": restricted_user,
    "lift-memory-alarm": lifted_alarm,
    "priority-queue": priority_queue,
    "dead-letter-exchange": dead_letter_exchange,
    "own-port": own_port,
    "log": log,
    "keep-alive": keep_alive,
}
"""By facility."""
