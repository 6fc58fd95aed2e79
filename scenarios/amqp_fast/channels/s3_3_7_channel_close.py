"""3.3.7 CHANNEL CLOSE Command: where the client closes, and 3.3.9 of it."""

from harness.amqp_fast.broken.channel_faults import close_and_commit, close_and_keep_handles
from harness.amqp_fast.broken.deviations import Fault, answers, ignores, repeats, replaces, rewrites
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastChannel
from harness.amqp_fast.client.outcomes import answered, closed, closed_anyhow, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import RECEIVED
from scenarios.amqp_fast.channels.common import WORDLESS, holds, staged
from scenarios.amqp_fast.channels.s3_3_4_channel_commit import transacted
from scenarios.amqp_fast.channels.s3_3_6_channel_reply import has_three_digits
from scenarios.registry import broken_by, scenario, watch

ANSWERED, UNOPENED = "channel close: is answered", "channel: is not open"
CLOSING = "fast/3.3.7.close-at-any-time"
INTERNAL = 541


def closes(channel: FastChannel, code: int = OK) -> None:
    """Judge that CHANNEL CLOSE is answered by one, behind what was on its way. Raises Unmet."""
    channel.send(Channel.Close(channel.id, code, "done"))
    is_closed(channel)


def is_closed(channel: FastChannel) -> None:
    """Judge that CHANNEL CLOSE comes, behind what was on its way. Raises Unmet."""
    while not isinstance(channel.expect(Channel.Close, answered(Handle.Notify, Handle.Reply)), Channel.Close):
        pass


def has_nothing_open(turn: AnyTurn) -> bool:
    return not turn.channel.sent


def has_nothing_unacknowledged(turn: AnyTurn) -> bool:
    return not turn.channel.unacknowledged


def is_amid_nothing(turn: AnyTurn) -> bool:
    return turn.channel.assembly is None


@scenario(CLOSING)
@broken_by("wants transactions to be ended", Fault.changes(ANSWERED, condition=has_nothing_open))
@broken_by("wants all to be acknowledged", Fault.changes(ANSWERED, condition=has_nothing_unacknowledged))
@broken_by("wants messages to be completed", Fault.changes(ANSWERED, condition=is_amid_nothing))
@broken_by("closes more than that", replaces(Channel.Close, Connection.Close(OK)))
def channel_is_closed_at_any_time(server: Server) -> None:
    """Right behind OPEN, amid messages, unacknowledged ones, a transaction, a message: CLOSE is answered."""
    connection, queue = server.connection(), server.queue(b"1", b"2", b"3")
    channel = connection.unopened()
    channel.send(Channel.Open(channel.id))
    closes(channel)
    handle = connection.channel().handle()
    handle.send(handle.consuming(queue))
    closes(handle.channel)
    handle = connection.channel().handle().consume(queue)
    handle.messages(3)
    closes(handle.channel)
    handle = connection.channel(transacted=True).handle()
    handle.publish(queue, b"4")
    closes(handle.channel)
    handle = connection.channel().handle()
    handle.send(handle.carries(queue, bytes(100), most=60)[0])
    closes(handle.channel)
    connection.lives()


@scenario("fast/3.3.7.close-names-open-channel")
@broken_by("passes over it", Fault.drops(UNOPENED))
@broken_by(
    "answers by a reply", answers(Channel.Close, lambda it: Channel.Reply(it.channel_id, 0, OK), skip=1)
)
def closing_what_is_not_open_is_told(server: Server) -> None:
    """CHANNEL CLOSE for a channel that nobody opened has an answer that closes it, or the connection."""
    connection = server.connection()
    connection.channel().close()
    channel = connection.unopened()
    legal = answered(Channel.Close) | closed(Connection.Close)
    channel.tries(Channel.Close(channel.id, OK), legal, stream_ends().under(WORDLESS))


class Known(State):
    """The channels that we have named."""

    def __init__(self) -> None:
        self.channels: set[int] = set()


@watch(
    "fast/3.3.7.server-closes-known-channels",
    during=CLOSING,
    looks_at=went(
        Channel.Open, Channel.Ack, Channel.Commit, Channel.Rollback, Channel.Close, Channel.Reply, Handle.Open
    )
    + came(Channel.Close),
    start=Known,
    gap=Gaps.STOPS,
)
@broken_by("closes another channel", rewrites(Channel.Close, channel_id=lambda number: number + 40))
@broken_by("closes channel 0", rewrites(Channel.Close, channel_id=0))
def closes_channels_that_are_known(known: Known, each: Passage) -> Found:
    """Each CHANNEL CLOSE of the server is for a channel for which the client has sent a command."""
    number: int = each.said.channel_id
    if each.direction is not RECEIVED:
        known.channels.add(number)
        return None
    return number in known.channels or f"channel {number}, of which nobody spoke, at {each.at:.4f} s"


@watch("fast/3.3.7.close-code-of-three-digits", during=CLOSING, looks_at=came(Channel.Close))
@broken_by("tells two digits", rewrites(Channel.Close, reply_code=50))
@broken_by("tells no code", rewrites(Channel.Close, reply_code=0))
def close_code_has_three_digits(each: Passage) -> Found:
    """The reply code of each CHANNEL CLOSE lies between 100 and 599."""
    return has_three_digits(each)


@scenario("fast/3.3.7.close-rolls-back")
@broken_by("commits", Fault.changes(ANSWERED, close_and_commit))
@broken_by("commits nothing but with a close", Fault.changes("channel commit: is done", effects=()))
def closing_rolls_the_transaction_back(server: Server) -> None:
    """What was sent and acknowledged is as if it had not been when the channel is closed without COMMIT."""
    for committed in (True, False):
        source, target = server.queue(b"acknowledged"), server.queue()
        handle = transacted(server, source)
        handle.messages(1)
        handle.channel.ack()
        handle.publish(target, b"sent")
        if committed:
            handle.channel.commit()
        closes(handle.channel)
        holds(server, target, *([b"sent"] if committed else []))
        holds(server, source, *([] if committed else [b"acknowledged"]))


@scenario("fast/3.3.7.close-closes-handles")
@broken_by("leaves them open", Fault.changes(ANSWERED, close_and_keep_handles))
def closing_closes_the_handles(server: Server) -> None:
    """A handle of a channel that was closed sends nothing, gets nothing, and is free for another channel."""
    queue = server.queue()
    first, second = (server.handle(new_connection=True).consume(queue, no_ack=True) for _ in range(2))
    for handle in (first, second):
        closes(handle.channel)
    first.tries(first.carries(queue, b"by nobody")[0], closed_anyhow(), stream_ends().under(WORDLESS))
    again = second.connection.channel().unopened(second.id)
    again.confirms(again.opening())
    holds(server, queue)


@scenario("fast/3.3.7.close-answered")
@broken_by("does not answer", ignores(Channel.Close))
@broken_by("answers twice", repeats(Channel.Close))
@broken_by("remembers that it was open", Fault.changes(ANSWERED, effects=()))
def close_is_answered_once(server: Server) -> None:
    """CHANNEL CLOSE has one answer; then the channel can be opened again."""
    connection = server.connection()
    channel, other = connection.channel(), connection.channel()
    closes(channel)
    other.fence()
    channel.got_nothing()
    channel.confirms(Channel.Open(channel.id))


@scenario("fast/3.3.9.close-expected-at-any-time")
@broken_by("wants messages to be acknowledged", Fault.changes(ANSWERED, condition=has_nothing_unacknowledged))
@broken_by("does not answer", ignores(Channel.Close))
@broken_by("goes on behind its answer", Fault.changes(ANSWERED, close_and_keep_handles))
def close_is_expected_whatever_is_under_way(server: Server) -> None:
    """Behind OPEN, a handle and a message in the same write CLOSE is answered; amid a backlog, too."""
    queue, connection = server.queue(), server.connection()
    channel = connection.unopened()
    handle = channel.unopened()
    opened = Channel.Open(channel.id), handle.opening(confirm_tag=0)
    channel.send(*opened, *handle.carries(queue, b"sent"), Channel.Close(channel.id, OK))
    channel.expect(Channel.Close)
    holds(server, queue, b"sent")
    backlog = server.queue(*(b"%d" % number for number in range(40)))
    reader = connection.channel().handle()
    reader.consume(backlog, prefetch=20)
    closes(reader.channel)
    server.handle().publish(backlog, b"later")
    connection.lives()
    reader.channel.got_nothing()


@scenario("fast/3.3.9.close-answered-on-open-channel")
@broken_by("commits", Fault.changes(ANSWERED, close_and_commit))
@broken_by("passes over errors of clients", ignores(Channel.Close, when=lambda it: it.reply_code != OK))
@broken_by("does not close it", Fault.changes(ANSWERED, effects=()))
def close_with_an_error_rolls_back_and_is_answered(server: Server) -> None:
    """A client closes a transacted channel for an error: it is answered, and what was sent never comes."""
    stage = staged(server)
    stage.sends(b"never")
    closes(stage.channel, INTERNAL)
    stage.shows()
    stage.channel.confirms(Channel.Open(stage.channel.id, transacted=True))
    stage.channel.confirms(Channel.Commit(stage.channel.id))
    stage.shows()
