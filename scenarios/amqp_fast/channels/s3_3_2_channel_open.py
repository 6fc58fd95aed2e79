"""3.3.1 Channel Command Summary and 3.3.2 CHANNEL OPEN Command."""

from decimal import Decimal

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    hears,
    ignores,
    repeats,
    replaces,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import answered, closed, closed_anyhow, fields, replied, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.peer.turn import Reply
from harness.amqp_fast.wire.tables import Time
from harness.amqp_fast.wire.vocabulary import NOT_IMPLEMENTED, OK, Channel, Connection, Handle
from scenarios.amqp_fast.channels.common import (
    GENERAL,
    WORDLESS,
    holds,
    staged,
    untagged,
)
from scenarios.amqp_fast.channels.preparing import ready_for
from scenarios.registry import broken_by, scenario

AGAIN = "channel open: again is refused"
ZERO = "channel open: of number zero is refused"
HIGHEST = 65535
BY_MAXIMUM = "1026: CHANNEL_MAX may be taken for the highest number"
NOT_BOTH = "what a prepared message is within a transaction, no sentence says"
BY_THE_LIST = "1591: the list of what a server expects names HANDLE REPLY for CHANNEL ACK"


def unasked(opened: Channel.Open) -> Channel.Reply:
    return Channel.Reply(opened.channel_id, 0, OK)


@scenario("fast/3.3.1.open-not-confirmed-unasked")
@broken_by(
    "confirms unasked", takes(Channel.Open, lambda it: Channel.Reply(it.channel_id, 0, OK), when=untagged)
)
@broken_by("opens what is confirmed alone", ignores(Channel.Open, when=untagged))
def open_without_a_tag_is_not_confirmed(server: Server) -> None:
    """A channel opened without a tag is open; nothing comes before the confirmation of a later command."""
    connection = server.connection()
    connection.channel()
    silent = connection.unopened()
    silent.send(Channel.Open(silent.id))
    silent.stays_quiet()


def as_of_a_handle(turn: AnyTurn) -> Reply:
    return (Handle.Reply(1, turn.event.confirm_tag, OK),)


@scenario("fast/3.3.1.confirmed-by-channel-reply")
@broken_by("confirms commits as of a handle", Fault.changes("channel commit: is done", answer=as_of_a_handle))
@broken_by(
    "confirms rollbacks as of a handle", Fault.changes("channel rollback: is done", answer=as_of_a_handle)
)
@broken_by("confirms by a close", Fault.changes("channel ack: is taken", answer=rows.closed))
def channel_commands_are_confirmed_by_channel_reply(server: Server) -> None:
    """OPEN, ACK, COMMIT and ROLLBACK with a tag are confirmed by CHANNEL REPLY with that tag."""
    connection = server.connection()
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id, transacted=True))
    channel.handle(1)
    tag = connection.tag()
    by_handle = replied(Handle.Reply, tag).under(BY_THE_LIST)
    channel.tries(Channel.Ack(channel.id, tag), replied(Channel.Reply, tag), by_handle)
    channel.confirms(Channel.Commit(channel.id))
    channel.confirms(Channel.Rollback(channel.id))


@scenario("fast/3.3.1.close-confirmed")
@broken_by("does not answer", ignores(Channel.Close))
@broken_by("answers by a reply", answers(Channel.Close, lambda it: Channel.Reply(it.channel_id, 0, OK)))
@broken_by("closes the connection", replaces(Channel.Close, Connection.Close(OK)))
def close_is_answered_by_close(server: Server) -> None:
    """CHANNEL CLOSE is answered by CHANNEL CLOSE for the same channel."""
    channel = server.channel()
    channel.tries(Channel.Close(channel.id, OK, "done"), fields(Channel.Close, channel_id=channel.id))


@scenario("fast/3.3.2.channel-id-not-zero")
@broken_by("opens channel 0", Fault.drops(ZERO))
@broken_by("passes over it", ignores(Channel.Open, when=lambda it: it.channel_id == 0))
def channel_zero_is_refused(server: Server) -> None:
    """Channel 1 is opened; a CHANNEL OPEN for channel 0 is refused."""
    connection = server.connection()
    connection.channel(1)
    by_channel = closed(Channel.Close).under("3.3.8 names CHANNEL CLOSE for an error in CHANNEL OPEN")
    legal = closed(Connection.Close), by_channel, stream_ends().under(WORDLESS)
    connection.tries(Channel.Open(0, connection.tag()), *legal)


@scenario("fast/3.3.2.channel-id-up-to-the-highest")
@broken_by("keeps the low octet", hears(Channel.Open, channel_id=lambda number: number & 0xFF or 1))
@broken_by("wants odd numbers", answers(Channel.Open, lambda it: Channel.Close(it.channel_id, 502), skip=1))
def any_number_above_zero_is_a_channel(server: Server) -> None:
    """Channels 1, 2, 255, 256 and 65535 are opened, one after the other where the server has few at once."""
    connection = server.connection()
    most = connection.tune.options.get("CHANNEL_MAX", 0) or HIGHEST
    for number in (1, 2, 255, 256, HIGHEST):
        channel, tag = connection.unopened(number), connection.tag()
        legal = [replied(Channel.Reply, tag)]
        legal += [closed_anyhow().under(BY_MAXIMUM)] if number > most else []
        opened = channel.tries(Channel.Open(number, tag), *legal)
        if not isinstance(opened, Channel.Reply):
            return
        if most < 5:
            channel.close()


@scenario("fast/3.3.2.open-confirmed")
@broken_by("does not confirm", withholds(Channel.Reply))
@broken_by("keeps the low octet of the tag", rewrites(Channel.Reply, confirm_tag=lambda tag: tag & 0xFF))
@broken_by("tells a failure", rewrites(Channel.Reply, reply_code=541))
def open_with_a_tag_is_confirmed(server: Server) -> None:
    """CHANNEL OPEN with the tags 1 and 65535 is confirmed with just these."""
    connection = server.connection()
    for tag in (1, 65535):
        channel = connection.unopened()
        channel.tries(Channel.Open(channel.id, tag), replied(Channel.Reply, tag))


@scenario("fast/3.3.2.open-answered")
@broken_by("confirms twice", repeats(Channel.Reply))
@broken_by("does not confirm", withholds(Channel.Reply))
@broken_by("confirms for another channel", rewrites(Channel.Reply, channel_id=lambda number: number + 1))
def open_is_confirmed_once(server: Server) -> None:
    """A successful CHANNEL OPEN has one CHANNEL REPLY, and nothing else."""
    channel = server.connection().unopened()
    channel.confirms(Channel.Open(channel.id))
    channel.stays_quiet()


@scenario("fast/3.3.2.transacted-mode")
@scenario("fast/3.3.2.1.both-kinds")
@broken_by("has no transactions", hears(Channel.Open, transacted=False))
@broken_by("has nothing but transactions", hears(Channel.Open, transacted=True))
@broken_by("commits nothing", Fault.changes("channel commit: is done", effects=()))
def bit_decides_whether_a_channel_is_transacted(server: Server) -> None:
    """What a plain channel sends comes at once; what a transacted one sends comes with the commit."""
    stage = staged(server)
    stage.shows()
    stage.sends(b"within")
    stage.shows()
    stage.channel.confirms(Channel.Commit(stage.channel.id))
    stage.shows(b"within")


@scenario("fast/3.3.2.transacted-commits-and-rolls-back")
@broken_by("cannot commit", Fault.drops("channel commit: is done"))
@broken_by("cannot roll back", Fault.drops("channel rollback: is done"))
@broken_by("ends with the commit", Fault.changes("channel commit: is done", rows.close))
def transacted_channel_commits_and_rolls_back(server: Server) -> None:
    """COMMIT and ROLLBACK are confirmed on a transacted channel, which is closed then."""
    channel = server.channel(transacted=True)
    channel.confirms(Channel.Commit(channel.id))
    channel.confirms(Channel.Rollback(channel.id))
    channel.tries(Channel.Close(channel.id, OK), Channel.Close)


def not_implemented(opened: Channel.Open) -> Channel.Close:
    return Channel.Close(opened.channel_id, NOT_IMPLEMENTED)


@scenario("fast/3.3.2.restartable-mode")
@broken_by("has no such mode", hears(Channel.Open, restartable=False))
@broken_by(
    "refuses it",
    answers(Channel.Open, lambda it: Channel.Close(it.channel_id, 540), when=lambda it: it.restartable),
)
def restartable_channel_takes_prepare_and_send(server: Server) -> None:
    """A restartable channel is opened, answers HANDLE PREPARE, and carries a small message as ever."""
    queue, connection = server.queue(), server.connection()
    connection.channel()
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id, restartable=True))
    channel.handle().tries(ready_for(channel.handle()), Handle.Ready)
    channel.handle().publish(queue, b"small")
    holds(server, queue, b"small")


@scenario("fast/3.3.2.both-modes-at-once")
@broken_by("lets the first bit win", hears(Channel.Open, when=lambda it: it.transacted, restartable=False))
@broken_by("lets the second bit win", hears(Channel.Open, when=lambda it: it.restartable, transacted=False))
def two_bits_are_two_modes(server: Server) -> None:
    """Each combination of the bits is opened; COMMIT works with the one, HANDLE PREPARE with the other."""
    connection = server.connection()
    refused = closed(Channel.Close, NOT_IMPLEMENTED) | closed(Connection.Close, NOT_IMPLEMENTED)
    for transacted, restartable in ((False, False), (True, False), (False, True), (True, True)):
        channel, tag = connection.unopened(), connection.tag()
        both = [refused.under(NOT_BOTH)] if transacted and restartable else []
        channel.send(Channel.Open(channel.id, tag, transacted, restartable))
        if not isinstance(channel.expect(replied(Channel.Reply, tag), *both), Channel.Reply):
            return
        if transacted:
            channel.confirms(Channel.Commit(channel.id))
        if restartable:
            handle = channel.handle()
            handle.tries(ready_for(handle), Handle.Ready)


UNKNOWN = {"X-STRING": b"text", "X-INTEGER": -1, "X-DECIMAL": Decimal("1.5"), "X-TIME": Time(1)}


@scenario("fast/3.3.2.options-not-defined")
@broken_by("neither opens nor refuses", ignores(Channel.Open, when=lambda it: it.options))
@broken_by(
    "calls its refusal a success",
    answers(Channel.Open, lambda it: Channel.Close(it.channel_id, OK), when=lambda it: it.options),
)
def unknown_options_are_ignored_or_refused(server: Server) -> None:
    """CHANNEL OPEN with options that nobody defines is confirmed, or refused; which one, is recorded."""
    opens_or_refuses(server, Channel.Open(options=UNKNOWN))


@scenario("fast/3.3.2.out-of-band-by-agreement")
@broken_by("neither opens nor refuses", ignores(Channel.Open, when=lambda it: it.out_of_band))
def unknown_way_out_of_band_is_kept_or_refused(server: Server) -> None:
    """CHANNEL OPEN with a string on which nobody agreed is confirmed or refused; which one, is recorded."""
    opens_or_refuses(server, Channel.Open(out_of_band="nobody has agreed on this"))


def opens_or_refuses(server: Server, command: Channel.Open) -> None:
    """Judge that a CHANNEL OPEN is confirmed or refused; one with nothing of the kind is the control."""
    connection = server.connection()
    connection.channel()
    channel, tag = connection.unopened(), connection.tag()
    legal = replied(Channel.Reply, tag), closed(Channel.Close), closed(Connection.Close)
    channel.tries(
        command.replace(channel_id=channel.id, confirm_tag=tag), *(each.recorded() for each in legal)
    )


@scenario("fast/3.3.2.not-opened-twice")
@broken_by("opens it again", Fault.changes(AGAIN, rows.open_, answer=rows.confirmed))
@broken_by("says that it is open", Fault.changes(AGAIN, effects=(), answer=rows.confirmed))
@broken_by("passes over it", Fault.drops(AGAIN))
def channel_is_not_opened_twice(server: Server) -> None:
    """A CHANNEL OPEN for a channel that is open is not confirmed, but answered by CHANNEL CLOSE."""
    connection = server.connection()
    channel = connection.unopened()
    command = Channel.Open(channel.id, connection.tag())
    channel.tries(command, answered(Channel.Reply))
    channel.tries(command, closed(Channel.Close), closed(Connection.Close).under(GENERAL))
