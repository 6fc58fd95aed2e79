"""What the rules of Channel.Flow ask of clients."""

from harness.amqp0_9_1.broken.deviations import FrameRule, Interposer, ignores
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.broken.provocations import delays
from harness.amqp0_9_1.client.outcomes import Received, fields, signature
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.frames import BODY, HEADER, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel
from harness.peers.interposer import Passed
from harness.wire.journal import RECEIVED
from scenarios.amqp0_9_1.provoked import provoked_on
from scenarios.registry import broken_by, scenario
from spec.rules import Role

PAUSES, RESUMES = Channel.Flow(False), Channel.Flow(True)
LATER = 0.4
"""Seconds for which a channel is paused."""


@scenario("0-9-1/channel.flow.initial-state", role=Role.CLIENT)
@broken_by("waits to be asked", ignores(Basic.Publish), Role.CLIENT)
def client_publishes_without_being_asked(client: Client) -> None:
    """On a channel that was just opened, and of whose flow nothing was said, the client publishes."""
    connection = client.connection()
    connection.channel().tries_to_publish("at once", key=client.name("queue"))
    seen = connection.link.taken(Basic.Publish)
    client.judge("a message", signature(seen), isinstance(seen, Received))


def contents_while_paused(connection: JudgedConnection) -> int:
    """Count the content frames between the client's Flow-Ok and the Flow that resumes the channel."""
    connection.hear_out()
    paused, count = False, 0
    for each in connection.link.transcript:
        said = readable(each.unit)
        if isinstance(said, Channel.FlowOk | Channel.Flow):
            paused = isinstance(said, Channel.FlowOk) and not said.active
        elif isinstance(each.unit, Frame) and each.unit.type in (HEADER, BODY):
            count += paused and each.direction is RECEIVED
    return count


def confirms_it(frame: Frame) -> Passed:
    return [], [method_frame(frame.channel, Channel.FlowOk(frame.payload[-1] == 1))]


GOES_ON = Interposer(frames=(FrameRule(sent_on(Channel.Flow), True, confirms_it),))


@scenario("0-9-1/channel.flow.bidirectional", role=Role.CLIENT)
@broken_by("does not answer", ignores(Channel.FlowOk), Role.CLIENT)
@broken_by("answers and goes on", GOES_ON, Role.CLIENT)
def client_pauses_and_resumes(client: Client) -> None:
    """The server pauses the channel, and resumes it later: the client confirms it, and publishes then."""
    late = (ignores(Channel.FlowOk), delays(Channel.Flow, LATER, skip=1))
    channel = provoked_on(client, PAUSES, RESUMES, meets=late)
    connection = channel.connection
    connection.expect(fields(Channel.FlowOk, active=False))
    channel.tries_to_publish("not before it is resumed", key=client.name("queue"))
    connection.link.taken(Basic.Publish)
    paused = contents_while_paused(connection)
    client.judge("no content while the channel is paused", "contents", not paused)
