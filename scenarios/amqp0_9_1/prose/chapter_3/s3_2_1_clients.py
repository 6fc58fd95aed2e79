"""3.2.1 and 2.2.1: how a client waits for replies, and finds them among all else that comes."""

from harness.amqp0_9_1.broken.deviations import adds, ignores, withholds
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.broken.provocations import carried, delays, precedes
from harness.amqp0_9_1.client.outcomes import fields
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.frames import Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Exchange, Queue
from harness.shims.contract import Refused
from harness.wire.journal import RECEIVED
from scenarios.amqp0_9_1.provoked import provoked
from scenarios.registry import broken_by, scenario
from spec.rules import Role


def at_once(frame: Frame) -> Frame:
    return method_frame(frame.channel, Exchange.Declare("amq.direct", "direct", passive=True))


def asked_meanwhile(connection: JudgedConnection) -> list[str]:
    """Give what the client asked for on any channel between its Declare and the server's Declare-Ok."""
    connection.hear_out()
    asked: list[str] = []
    waiting = False
    for each in connection.link.transcript:
        said = readable(each.unit)
        if isinstance(said, Queue.Declare | Queue.DeclareOk):
            waiting = isinstance(said, Queue.Declare)
        elif waiting and said is not None and each.direction is RECEIVED:
            asked.append(said.full_name)
    return asked


@scenario("0-9-1/prose/3.2.1.sender-waits-for-reply", role=Role.CLIENT)
@broken_by("does not wait", adds(sent_on(Queue.Declare), at_once, from_server=False), Role.CLIENT)
def client_waits_for_the_reply(client: Client) -> None:
    """Declare-Ok comes late, and the client is told to declare an exchange then: it does not before."""
    connection = client.connection(delays(Queue.DeclareOk, 0.2))
    channel = connection.channel()
    channel.tries("queue.declare", queue=client.name("queue"))
    connection.came(Queue.Declare)
    channel.tries("exchange.declare", exchange=client.name("exchange"), type="direct")
    asked = asked_meanwhile(connection)
    client.judge("nothing before the reply", " and ".join(asked), not asked)


PAUSES = tuple(Channel.Flow(active) for active in 8 * (False, True))
"""So many that a client which answers each in a thread of its own is not in order by chance."""


@scenario("0-9-1/prose/3.2.1.pipelined-requests-borne", role=Role.CLIENT)
@broken_by("answers none", ignores(Channel.FlowOk), Role.CLIENT)
def client_answers_requests_in_their_order(client: Client) -> None:
    """The server pauses and resumes a channel without waiting, all in one piece: answers come, in order."""
    connection = provoked(client, *PAUSES, meets=(ignores(Channel.FlowOk),))
    for each in PAUSES:
        connection.expect(fields(Channel.FlowOk, active=each.active))


TEXTS = ["one", "other"]


@scenario("0-9-1/prose/2.2.1.replies-found-among-notices", role=Role.CLIENT)
@broken_by("does not find it", withholds(Queue.DeclareOk, skip=1), Role.CLIENT)
@broken_by("loses the notices", withholds(Basic.Deliver), Role.CLIENT)
def client_finds_the_reply_among_notices(client: Client) -> None:
    """Between a Declare and its reply come two messages: the reply is found, and the messages are told."""
    tag: list[str] = []

    def notices(on: int) -> bytes:
        delivers = (Basic.Deliver(tag[0], at, routing_key=text) for at, text in enumerate(TEXTS, 1))
        return b"".join(carried(each, each.routing_key.encode())(on) for each in delivers)

    connection = client.connection(precedes(Queue.DeclareOk, notices, skip=1))
    channel, queue = connection.channel(), client.name("queue")
    channel.call("queue.declare", queue=queue)
    tag.append(channel.receive(queue))
    told = channel.tries("queue.declare", queue=queue)
    client.judge("the reply", told.told if isinstance(told, Refused) else "", not isinstance(told, Refused))
    texts = [each.text for each in channel.messages(2)]
    client.judge("both messages, in order", f"{len(texts)} messages", texts == TEXTS)
