"""What is wrong with transactions, with acknowledgement, and with messages that are kept or put back."""

from collections.abc import Mapping

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.deliveries import settle
from harness.amqp0_9_1.peer.entities import Channel, Delivery, Entry, Message, Queue
from harness.amqp0_9_1.peer.life import (
    abandon_transaction,
    is_transacted,
    mark_redelivered,
    put_back,
    requeue,
)
from harness.amqp0_9_1.peer.strategies import may_have, named_deliveries
from harness.amqp0_9_1.peer.tables.basic import (
    discard_rejected,
    hold_acknowledgement,
    named,
    route,
    tag_is_not_of_a_delivered_message,
)
from harness.amqp0_9_1.peer.tables.tx import commit
from harness.amqp0_9_1.wire.vocabulary import Basic

# -- transactions --------------------------------------------------------------------------------------


def settle_anyway(turn: Turn) -> None:
    """Takes acknowledgements for final though they are rolled back."""
    for delivery in list(turn.channel.withheld):
        settle(delivery)
    forget_transaction(turn)


def route_only(turn: Turn) -> None:
    """Commits publications, and takes acknowledgements back."""
    publications = [each for each in turn.channel.transaction if each not in turn.channel.withheld]
    abandon_transaction(turn)
    for each in publications:
        route(turn, each)


def publish_what_was_not_committed(turn: Turn) -> None:
    """Commits what was published when a channel ends, and takes acknowledgements back."""
    publications = [each for each in turn.channel.transaction if not isinstance(each, Delivery)]
    abandon_transaction(turn)
    turn.channel.transaction = publications
    commit(turn)


def commit_everywhere(turn: Turn) -> None:
    for channel in turn.connection.channels.values():
        commit(turn.on(channel))


def is_transacted_and_of_what_was_got(turn: Turn) -> bool:
    """Holds only acknowledgements of what Get gave until the commit."""
    return is_transacted(turn) and all(each.consumer is None for each in named(turn))


def hold_the_last(turn: Turn) -> None:
    """Takes an acknowledgement up to a tag for one of that tag alone, in a transaction."""
    turn.event = turn.event.replace(multiple=False)
    hold_acknowledgement(turn)


def has_something_to_commit(turn: Turn) -> bool:
    """Confirms a Commit only where there is anything to commit."""
    return bool(turn.channel.transaction)


def commit_the_first(turn: Turn) -> None:
    del turn.channel.transaction[1:]
    commit(turn)


def forget_transaction(turn: Turn) -> None:
    """Lets what was published and acknowledged in a transaction vanish, messages and all."""
    turn.channel.transaction.clear()
    turn.channel.withheld.clear()


def nobody_is_transacted(turn: Turn) -> bool:
    """Takes a transaction for one of the whole connection."""
    return not any(each.transacted for each in turn.connection.channels.values())


def is_not_of_the_transaction(turn: Turn) -> bool:
    """Takes a tag a second time in the transaction that acknowledges it."""
    held = [each.tag for each in turn.channel.withheld]
    return tag_is_not_of_a_delivered_message(turn) and turn.event.delivery_tag not in held


# -- one way of many -----------------------------------------------------------------------------------


def strip(message: Message) -> None:
    """Takes all properties but delivery-mode off a message that is kept."""
    bare = Basic.Properties(delivery_mode=2 if message.persistent else 1).encode()
    message.store.octets += 12 + len(bare) - len(message.header)
    message.header = message.header[:12] + bare


def strip_what_is_put_back(turn: Turn) -> None:
    """Puts a message back without its properties."""
    strip(turn.subject.entry.message)
    mark_redelivered(turn)
    put_back(turn)


def strip_what_is_stored(turn: Turn) -> None:
    """Brings a message back from storage without its properties."""
    strip(turn.subject.message)


def up_to_but_not_including(
    unacknowledged: Mapping[int, Delivery], tag: int, multiple: bool
) -> list[Delivery]:
    """Leaves the tag itself out where it stands for all up to it."""
    found = named_deliveries(unacknowledged, tag, multiple)
    return [each for each in found if not (multiple and tag) or each.tag < tag]


def zero_is_nothing(unacknowledged: Mapping[int, Delivery], tag: int, multiple: bool) -> list[Delivery]:
    """Takes zero for the tag of no message, where it stands for all."""
    return named_deliveries(unacknowledged, tag, multiple) if tag else []


def consumed_only(unacknowledged: Mapping[int, Delivery], tag: int, multiple: bool) -> list[Delivery]:
    """Acknowledges what a consumer got, and nothing that was got."""
    found = named_deliveries(unacknowledged, tag, multiple)
    return [each for each in found if each.consumer is not None]


def requeue_what_was_consumed(turn: Turn) -> None:
    """Brings back what a consumer had when its channel ended, not what was got."""
    if turn.subject.consumer is not None:
        requeue(turn)


def discard_what_was_consumed(turn: Turn) -> None:
    """Hears Reject for what a consumer got, not for what was got."""
    if all(each.consumer is not None for each in named(turn)):
        discard_rejected(turn)


def latest_due(queue: Queue, channel: Channel) -> Entry | None:
    """Give the message that came last, for Get."""
    found = [entry for entry in queue if may_have(channel, None, entry)]
    return found[-1] if found else None


def persistent_due(queue: Queue, channel: Channel) -> Entry | None:
    """Give the first persistent message, for Get; the first of all where there is none."""
    found = [entry for entry in queue if may_have(channel, None, entry)]
    return next((each for each in found if each.message.persistent), found[0] if found else None)


def reject_on_any_channel(turn: Turn) -> None:
    """Looks for a rejected delivery on all channels of the connection, and drops it."""
    tag = turn.event.delivery_tag
    for channel in turn.connection.channels.values():
        if tag in channel.unacknowledged:
            settle(channel.unacknowledged[tag])


def is_far_away(turn: Turn) -> bool:
    """Takes the tag that comes next for one that was given."""
    next_one = turn.channel.last_tag + 1
    return tag_is_not_of_a_delivered_message(turn) and turn.event.delivery_tag != next_one


def has_nothing_out(turn: Turn) -> bool:
    """Sees a known consumer none of whose messages awaits acknowledgement."""
    consumer = turn.channel.consumers.get(turn.event.consumer_tag)
    out = [each.consumer for each in turn.channel.unacknowledged.values()]
    return consumer is not None and consumer not in out
