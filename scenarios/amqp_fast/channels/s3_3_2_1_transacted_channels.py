"""3.3.2.1 Transacted Channels."""

from harness.amqp_fast.broken.channel_faults import (
    on_all_channels,
    roll_back_and_reach,
    send_at_once,
    send_first_at_once,
    transacts_no_more,
)
from harness.amqp_fast.broken.deviations import Fault, answers, ignores
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.peer.tables.sending import forget
from harness.amqp_fast.wire.vocabulary import OK, Channel
from scenarios.amqp_fast.channels.common import holds, staged
from scenarios.registry import broken_by, scenario

COMMIT, ROLLBACK, SEND = "channel commit: is done", "channel rollback: is done", "handle send: is done"


@scenario("fast/3.3.2.1.mode-of-each-channel")
@broken_by("has one transaction for all channels", Fault.changes(COMMIT, on_all_channels(rows.commit)))
@broken_by("commits nothing", Fault.changes(COMMIT, effects=()))
@broken_by("has no transactions", Fault.changes(SEND, send_at_once, forget))
def channels_of_both_kinds_share_a_connection(server: Server) -> None:
    """Of two transacted channels and a plain one each gives out its message by itself."""
    stage = staged(server)
    other = server.channel(transacted=True).handle()
    stage.sends(b"of the first")
    other.publish(stage.queue, b"of the second")
    stage.shows()
    stage.channel.commit()
    stage.shows(b"of the first")
    other.channel.commit()
    stage.shows(b"of the second")


@scenario("fast/3.3.2.1.transaction-from-the-start")
@broken_by("has no transactions of what is sent", Fault.changes(SEND, send_at_once, forget))
@broken_by("begins with the first message", Fault.changes(SEND, send_first_at_once, forget))
@broken_by("rolls nothing back", Fault.changes(ROLLBACK, effects=()))
def first_message_is_in_a_transaction(server: Server) -> None:
    """What is sent first on a transacted channel waits: rolled back it never comes, committed it does."""
    stage = staged(server)
    stage.sends(b"rolled back")
    stage.shows()
    stage.channel.roll_back()
    stage.channel.commit()
    stage.shows()
    second = server.channel(transacted=True).handle()
    second.publish(stage.queue, b"committed")
    stage.shows()
    second.channel.commit()
    stage.shows(b"committed")


@scenario("fast/3.3.2.1.transaction-after-transaction")
@broken_by("has one transaction", Fault.changes(COMMIT, rows.commit, transacts_no_more))
@broken_by("has none after a rollback", Fault.changes(ROLLBACK, rows.roll_back, transacts_no_more))
def transaction_follows_transaction(server: Server) -> None:
    """After a commit what is sent waits for the next one, and after a rollback, too."""
    stage = staged(server)
    stage.sends(b"first")
    stage.channel.commit()
    stage.shows(b"first")
    stage.sends(b"second")
    stage.shows()
    stage.channel.roll_back()
    stage.sends(b"third")
    stage.shows()
    stage.channel.commit()
    stage.shows(b"third")


def has_begun(turn: AnyTurn) -> bool:
    return turn.channel.transacted and bool(turn.channel.sent or turn.channel.unacknowledged)


@scenario("fast/3.3.2.1.no-begin")
@broken_by("cannot commit what has not begun", Fault.changes(COMMIT, condition=has_begun))
@broken_by("cannot roll back what has not begun", Fault.changes(ROLLBACK, condition=has_begun))
@broken_by("waits for another beginning", Fault.changes(COMMIT, effects=()))
def nothing_has_to_begin_a_transaction(server: Server) -> None:
    """COMMIT and ROLLBACK work with nothing before them; a message sent then is committed."""
    stage = staged(server)
    stage.channel.confirms(Channel.Commit(stage.channel.id))
    stage.channel.confirms(Channel.Rollback(stage.channel.id))
    stage.sends(b"sent then")
    stage.channel.confirms(Channel.Commit(stage.channel.id))
    stage.shows(b"sent then")


def says_so(command: Channel.Commit) -> Channel.Reply:
    return Channel.Reply(command.channel_id, command.confirm_tag, OK)


@scenario("fast/3.3.2.1.not-nested")
@broken_by("takes a commit for that of an inner one", answers(Channel.Commit, says_so))
@broken_by("rolls back what was committed", Fault.changes(ROLLBACK, roll_back_and_reach))
@broken_by("does not hear the inner one", ignores(Channel.Rollback))
def commit_is_for_good(server: Server) -> None:
    """What was committed is there, once, and what was rolled back is not, whatever comes later."""
    queue, handle = server.queue(), server.channel(transacted=True).handle()
    handle.publish(queue, b"committed")
    handle.channel.commit()
    handle.publish(queue, b"rolled back")
    handle.send(Channel.Rollback(handle.channel.id))
    handle.channel.commit()
    holds(server, queue, b"committed")
