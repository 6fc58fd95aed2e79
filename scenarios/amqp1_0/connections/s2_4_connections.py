"""2.4 Connections: channels run one way."""

from harness.amqp1_0.broken.deviations import changes, rewrites
from harness.amqp1_0.broken.loose import Turn
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import begun
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.peer.refusals import our_begin
from harness.amqp1_0.peer.turn import Reply
from harness.amqp1_0.wire.performatives import Begin
from scenarios.registry import broken_by, scenario

CHANNELS = (7, 3)
"""None of them the lowest, and not in the order of their numbers."""


def begin_by_own_number(turn: Turn) -> Reply:
    """Takes it that a session has one number, its own."""
    return (our_begin(turn.session, turn.policy).replace(remote_channel=turn.session.channel),)


@scenario("1-0/2.4.channels-per-direction")
@broken_by("takes equal numbers for granted", changes("begin: is answered", answer=begin_by_own_number))
@broken_by("names the same channel twice", rewrites(Begin, skip=1, remote_channel=CHANNELS[0]))
def each_begin_is_answered_for_its_own_channel(container: Container) -> None:
    """Begins on channels 7 and 3 are answered with 7 and 3 as remote-channel, whatever they come on."""
    connection = container.connection().fence()
    highest = connection.partner.channel_max
    if not highest:
        container.inapplicable("the server allows channel 0 only")
    one, other = CHANNELS if highest >= max(CHANNELS) else (highest, 0)
    connection.send(the_begin(), channel=one)
    first = connection.tries(the_begin(), begun(one) | begun(other), channel=other)
    connection.expect(begun(other if first.remote_channel == one else one))
