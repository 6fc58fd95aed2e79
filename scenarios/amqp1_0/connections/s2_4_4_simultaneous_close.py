"""2.4.4 Simultaneous Close: two closes cross."""

from harness.amqp1_0.broken.deviations import follows
from harness.amqp1_0.broken.faults import ANSWERS_OUR_CLOSE_AGAIN
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import answered, stream_ended
from harness.amqp1_0.wire.performatives import Close
from scenarios.amqp1_0.connections.s2_4_3_closing_a_connection import provoked
from scenarios.registry import broken_by, scenario


@scenario("1-0/2.4.4.simultaneous-close")
@broken_by("closes two times", follows(Close, Close()))
@broken_by("answers our close behind its own", ANSWERS_OUR_CLOSE_AGAIN)
def closes_that_cross_end_the_connection(container: Container) -> None:
    """What the server closes for, and our close, in a single write: one close comes, and no second.

    It closes for a body that cannot be decoded, for an undefined performative, or for a null in its place.
    """
    container.connection().ask(Close(), Close)
    _, breach = provoked(container)
    connection = container.connection()
    connection.send(breach, Close())
    connection.expect(
        answered(Close),
        stream_ended().recorded("that a close comes first is judged by 1-0/2.4.3.close-before-closing"),
    )
    connection.nothing_more()
