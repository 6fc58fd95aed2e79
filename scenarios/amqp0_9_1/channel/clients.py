"""What the rules of the class Channel ask of clients: how they pause, and what they report."""

from harness.amqp0_9_1.broken.deviations import FrameRule, Interposer, answers, forwards, ignores, replies
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.broken.provocations import carried, delays, follows, hangs_up
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    Received,
    answered,
    closed_silently,
    fields,
    signature,
    silence,
)
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.frames import BODY, HEADER, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic, Channel
from harness.peers.interposer import Passed
from harness.play.reports import Reports
from harness.targets.client.ears import deaf_to_the_end
from harness.wire.journal import RECEIVED
from scenarios.amqp0_9_1.getting import soon
from scenarios.amqp0_9_1.provoked import provoked_on
from scenarios.registry import broken_by, scenario
from spec.rules import Role

PAUSES, RESUMES = Channel.Flow(False), Channel.Flow(True)
LATER = 0.4
"""Seconds for which a channel is paused."""
REFUSES = Channel.Close(PRECONDITION_FAILED, "the channel is paused")


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


@scenario("0-9-1/channel.flow.throttling", role=Role.CLIENT)
@broken_by("never asks for it", ignores(Channel.Flow), Role.CLIENT)
@broken_by("asks for the contrary", forwards(Channel.Flow, active=True), Role.CLIENT)
def request_of_a_client_to_pause_is_recorded(client: Client) -> None:
    """The client is told to pause what a consumer gets: whether Channel.Flow comes; either conforms."""
    connection, queue = client.connection(), client.name("queue")
    channel = connection.channel()
    channel.declares(queue)
    channel.receive(queue)
    channel.tries("channel.flow", active=False)
    asks = answered(Channel.Flow).recorded("MAY throttle incoming content")
    seen = soon(connection, asks, silence().recorded("it need not"))
    if isinstance(seen, Received):
        client.note(f"the client asks for active={int(seen.method.active)} where it is told to pause")


PAUSED = "paused"
"""The tag of a consumer that gets something though its channel is paused."""


@scenario("0-9-1/channel.flow.expected-behaviour", role=Role.CLIENT)
@broken_by("ends a channel that is not paused", replies(Basic.Deliver, REFUSES), Role.CLIENT)
def what_a_client_does_to_a_server_that_goes_on_is_recorded(client: Client) -> None:
    """The client pauses a channel, and the server delivers all the same: whether it ends that is recorded."""
    goes_on = follows(Channel.FlowOk, carried(Basic.Deliver(PAUSED, 1, routing_key="key"), b"all the same"))
    connection, queue = client.connection(goes_on), client.name("queue")
    channel = connection.channel()
    channel.declares(queue)
    channel.receive(queue, tag=PAUSED)
    channel.tries("channel.flow", active=False)
    connection.came(Channel.Flow)
    ended = (EXCEPTION | closed_silently()).recorded("MAY disconnect")
    soon(connection, silence().recorded("it bears what comes"), ended)


# -- what is reported ----------------------------------------------------------------------------------


@scenario("0-9-1/channel.close-ok.reporting", role=Role.CLIENT)
@broken_by("takes its Close for the end of it", answers(Channel.Close, Channel.CloseOk()), Role.CLIENT)
@broken_by("does not see that the socket has ended", deaf_to_the_end(), Role.CLIENT)
def client_reports_a_socket_lost_before_close_ok(client: Client) -> None:
    """A channel is closed, then its connection; of a socket that ends before that more is told, or logged."""
    reports = Reports(client, client.connection())
    orderly = client.connection()
    orderly.channel().close()
    reports.usual(orderly, orderly.closes())
    lost = client.connection(hangs_up(Channel.CloseOk))
    reports.gains("a socket that ended in place of Channel.Close-Ok", lost, lost.channel().closes())
