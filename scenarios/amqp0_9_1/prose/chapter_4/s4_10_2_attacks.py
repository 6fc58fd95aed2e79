"""4.10.2: denial of service attacks."""

from collections.abc import Callable
from dataclasses import replace

from harness.amqp0_9_1.broken.deviations import swaps
from harness.amqp0_9_1.broken.log_faults import all_but, nothing_but_the_start
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, METHOD, RawFrame
from harness.amqp0_9_1.wire.vocabulary import Connection
from scenarios.registry import broken_by, scenario


def bad_password(connection: AmqpConnection) -> None:
    """Send a Start-Ok with a password that is not the user's."""
    wrong = replace(connection.endpoint, password=f"not {connection.endpoint.password}")
    start_ok = AmqpConnection(connection.link, connection.context, wrong).start_ok()
    connection.send(start_ok)
    if isinstance(connection.link.coming(0, connection.context.patience.answer), Connection.Secure):
        connection.send(Connection.SecureOk(start_ok.response))


def cut_short(connection: AmqpConnection) -> None:
    connection.send_frames(RawFrame(METHOD, 0, connection.start_ok().encode()[:-1]))


def oversized(connection: AmqpConnection) -> None:
    """Send a frame that is larger than any may be before Tune-Ok."""
    connection.send_frames(RawFrame(METHOD, 0, bytes(2 * FRAME_MIN_SIZE)))


def is_logged(broker: Broker, what: str, attack: Callable[[AmqpConnection], None]) -> None:
    """Judge that more is logged of the attack than of a connection that is opened and closed."""
    log = broker.log()
    with log.usual():
        broker.lookout().close()
    attack(broker.started())
    log.gains(what)


@scenario("0-9-1/prose/4.10.2.attacks-logged", needs=["log"], alone=True)
@broken_by("logs nothing of connections", swaps(logged=nothing_but_the_start))
@broken_by("logs no failed log-in", swaps(logged=all_but("bad credentials")))
def failed_log_in_is_logged(broker: Broker) -> None:
    """Of a log-in with a wrong password more is logged than of a connection that is opened and closed."""
    is_logged(broker, "a log-in that fails", bad_password)


@scenario("0-9-1/prose/4.10.2.attacks-logged", needs=["log"], alone=True)
@broken_by("logs nothing that it cannot read", swaps(logged=all_but("anything else before it is open")))
def syntax_error_is_logged(broker: Broker) -> None:
    """Of a Start-Ok that ends one octet early more is logged than of a connection opened and closed."""
    is_logged(broker, "a Start-Ok that cannot be read", cut_short)


@scenario("0-9-1/prose/4.10.2.attacks-logged", needs=["log"], alone=True)
@broken_by("logs nothing that is too large", swaps(logged=all_but("anything else before it is open")))
def oversized_data_are_logged(broker: Broker) -> None:
    """Of a frame of twice the least size more is logged than of a connection that is opened and closed."""
    is_logged(broker, "data that are too large", oversized)
