"""2.3.6: an exception ends what it has to, and says why."""

from harness.amqp0_9_1.broken.deviations import changes, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import channel_closed, connection_closed
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.frames import BODY, Frame
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, UNEXPECTED_FRAME, Channel, Connection, Queue
from harness.play.watching import Found, came
from scenarios.registry import broken_by, scenario, watch

USUALLY = "4.8.1: the level of an exception follows its class only usually"
MISPLACED = "content: refuses a frame out of sequence"


@scenario("0-9-1/prose/2.3.6.error-level")
@broken_by(
    "ends the connection for what is missing",
    changes(
        "queue.declare: passive refuses one that does not exist", answer=refuse(NOT_FOUND, Level.CONNECTION)
    ),
)
@broken_by(
    "ends only the channel for a frame out of place",
    changes(MISPLACED, answer=refuse(UNEXPECTED_FRAME, Level.CHANNEL)),
)
@broken_by("passes over a frame out of place", changes(MISPLACED, answer=None))
def error_ends_channel_or_connection(broker: Broker) -> None:
    """A missing queue ends the channel and no other one; a body without a header ends the connection."""
    other, channel = broker.channel(), broker.channel()
    channel.send(Queue.Declare(broker.name("queue"), passive=True))
    ended = channel.expect(channel_closed(), connection_closed(NOT_FOUND).under(USUALLY))
    if isinstance(ended, Channel.Close):
        other.stays_quiet()
    channel = broker.channel(new_connection=True)
    channel.connection.send_frames(Frame(BODY, channel.number, b"body"))
    channel.expect(connection_closed(), channel_closed(UNEXPECTED_FRAME).under(USUALLY))


THREE_DIGITS = range(100, 1000)


@watch(
    "0-9-1/prose/2.3.6.exception-tells-why",
    during="0-9-1/channel.open.state",
    looks_at=came(Channel.Close, Connection.Close),
)
@broken_by("gives no code", rewrites(Connection.Close, reply_code=0))
@broken_by("gives a code of two digits", rewrites(Connection.Close, reply_code=50))
def close_has_a_code(each: Passage) -> Found:
    """Every Close has a code of three digits."""
    said = each.said
    return said.reply_code in THREE_DIGITS or f"{said.full_name} {said.reply_code} at {each.at:.4f} s"
