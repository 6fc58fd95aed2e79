"""Messages that die in their queue: where they go from there, and what is written on them."""

from collections.abc import Sequence
from typing import Final

from harness.amqp0_9_1.peer.deliveries import enqueue
from harness.amqp0_9_1.peer.entities import Delivery, Entry, Message
from harness.amqp0_9_1.peer.events import Discarded
from harness.amqp0_9_1.peer.turn import AnyTurn, LifeTurn
from harness.amqp0_9_1.peer.turn import LifeRow as Row
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.contents import changed, properties_of
from harness.amqp0_9_1.rabbitmq.routing.reaching import BLIND, COPIES, keys_in
from harness.amqp0_9_1.wire.field_tables import Table, Timestamp

EPOCH: Final = 1_750_000_000
"""The time at which a peer's clock began, in POSIX seconds: what it writes is the same in every run."""
further_keys = keys_in(COPIES)
"""Gives the keys of a message beside its own that everyone may see."""


def dead(turn: AnyTurn, entry: Entry, reason: str) -> None:
    """Send a message to the dead-letter exchange of its queue, which it has left; without one it is gone."""
    exchange = asked(entry.queue, "dead-letter-exchange")
    if not isinstance(exchange, str) or exchange not in turn.host.exchanges:
        return
    letter = _addressed(entry, exchange, _died(turn, entry, reason))
    blind = (
        {BLIND: entry.message.headers[BLIND]} if _keeps_keys(entry) and BLIND in entry.message.headers else {}
    )
    routed = changed(letter, headers={**letter.headers, **blind})
    for queue in turn.strategies.reached(turn.host, routed, turn.strategies):
        if not goes_in_circles(letter.deaths, queue.name):
            enqueue(turn, queue, letter)


def _keeps_keys(entry: Entry) -> bool:
    """Say whether a queue leaves its dead messages the keys they were published with."""
    return asked(entry.queue, "dead-letter-routing-key") is None


def goes_in_circles(deaths: Sequence[Table], queue: str) -> bool:
    """Say whether a message died in this queue before and was never rejected since, nor there."""
    for death in deaths:
        if death["reason"] == "rejected":
            return False
        if death["queue"] == queue:
            return True
    return False


def _died(turn: AnyTurn, entry: Entry, reason: str) -> tuple[Table, ...]:
    """Give the deaths of a message with this one: in the same queue for the same reason it is counted."""
    message, queue = entry.message, entry.queue.name
    same = [each for each in message.deaths if (each["queue"], each["reason"]) == (queue, reason)]
    others = (each for each in message.deaths if each not in same)
    return ({**(same[0] if same else _first(turn, entry, reason)), "count": _count(same) + 1}, *others)


def _count(deaths: Sequence[Table]) -> int:
    return int(deaths[0]["count"]) if deaths else 0


def _first(turn: AnyTurn, entry: Entry, reason: str) -> Table:
    """Give what is told of the first death in a queue for a reason."""
    message = entry.message
    expiration = properties_of(message).expiration
    return {
        "queue": entry.queue.name,
        "reason": reason,
        "time": Timestamp(EPOCH + int(turn.peer.clock())),
        "exchange": message.exchange,
        "routing-keys": [message.routing_key, *further_keys(message)],
        **({} if expiration is None else {"original-expiration": expiration}),
    }


def _addressed(entry: Entry, exchange: str, deaths: tuple[Table, ...]) -> Message:
    """Give the message as it goes to an exchange: under the queue's routing key, if it has one, and once."""
    message = entry.message
    key = asked(entry.queue, "dead-letter-routing-key")
    dropped = (BLIND,) if _keeps_keys(entry) else (COPIES, BLIND)
    headers = {name: value for name, value in message.headers.items() if name not in dropped}
    letter = changed(
        message,
        exchange,
        message.routing_key if key is None else str(key),
        headers={
            **_told("first", message, deaths),
            **headers,
            **_told("last", message, deaths),
            "x-death": deaths,
        },
        expiration=None,
    )
    letter.deaths = deaths
    return letter


def _told(which: str, message: Message, deaths: Sequence[Table]) -> Table:
    """Give the headers that tell of the death that has just been added."""
    told = {"queue": deaths[0]["queue"], "reason": deaths[0]["reason"], "exchange": message.exchange}
    return {f"x-{which}-death-{name}": value for name, value in told.items()}


def bury_rejected(turn: LifeTurn[Discarded, Delivery]) -> None:
    """Send a rejected message where dead ones go."""
    dead(turn, turn.subject.entry, "rejected")


DEAD_LETTERS = (
    Row(
        "reject: without requeue sends to the dead-letter exchange",
        Delivery,
        Discarded,
        effects=(bury_rejected,),
    ),
)
