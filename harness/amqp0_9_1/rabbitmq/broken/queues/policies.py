"""Conditions and effects that are wrong about what policies ask of queues."""

from collections.abc import Callable

from harness.amqp0_9_1.broken.loose import Condition, Effect, Turn
from harness.amqp0_9_1.peer.deliveries import enqueue
from harness.amqp0_9_1.peer.entities import Exchange, Queue, VirtualHost
from harness.amqp0_9_1.peer.tables.queue import exists_otherwise
from harness.amqp0_9_1.rabbitmq.arguments import POLICIES, asked, come_into_force
from harness.amqp0_9_1.rabbitmq.contents import properties_of
from harness.amqp0_9_1.rabbitmq.queues.expiry import dies_in, lives_for_a_time, time_to_live, was_not_used
from harness.amqp0_9_1.rabbitmq.queues.lengths import would_be_too_much

COMPARES = "queue.declare: refuses another durable or exclusive or other arguments"
LENGTH = "max-length"


def _argument(queue: Queue) -> int | None:
    value = queue.arguments.get(f"x-{LENGTH}")
    return value if isinstance(value, int) else None


def _policies(queue: Queue) -> list[int]:
    values = [each.says.get(LENGTH) for each in POLICIES.values() if each.matches(queue.name)]
    return [each for each in values if isinstance(each, int)]


def _holds(limit: Callable[[Queue], int | None]) -> Condition:
    def condition(turn: Turn) -> bool:
        # Drops by itself: the row's own effect drops down to the limit that is right.
        queue, most = turn.subject, limit(turn.subject)
        while most is not None and len(queue) > most:
            queue.remove(next(iter(queue)))
        return False

    return condition


argument_counts = _holds(_argument)
policy_counts = _holds(lambda queue: min(_policies(queue), default=_argument(queue)))
higher_counts = _holds(lambda queue: max((*_policies(queue), _argument(queue) or 0)) or None)
lowest_of_all_counts = _holds(lambda queue: min(_policies(queue), default=_argument(queue)))


def _is_for_two(turn: Turn) -> bool:
    return bool(turn.subject.queue.name.startswith(POLICIES["lower-of-two"].begins))


def lives_by_any_policy(turn: Turn) -> bool:
    return _is_for_two(turn) or lives_for_a_time(turn)


def set_time_by_any_policy(turn: Turn) -> None:
    """Takes the time that a policy says which another one goes before."""
    dies_in(turn, turn.subject, 0.0 if _is_for_two(turn) else time_to_live(turn.subject))


def stay_in_force(turn: Turn) -> None:
    """Asks of a queue what a policy says, and still does when that was taken back."""
    if turn.event.says:
        come_into_force(turn)


def by_argument_alone(_: VirtualHost, exchange: Exchange) -> list[str]:
    """Gives the alternate exchange of an argument, whatever a policy says."""
    named = exchange.arguments.get("alternate-exchange")
    return [named] if isinstance(named, str) else []


def _contained(queue: Queue) -> int | None:
    begins = POLICIES[LENGTH].begins
    return 2 if begins in queue.name else None


for_names_that_contain_it = _holds(_contained)


def _begun(queue: Queue) -> int | None:
    values = (each.says.get(LENGTH) for each in POLICIES.values() if queue.name.startswith(each.begins))
    return next((each for each in values if isinstance(each, int)), _argument(queue))


for_names_that_begin_with_it = _holds(_begun)


def would_be_too_much_by_argument(turn: Turn) -> bool:
    """Turns away for limits that arguments set, not those of policies."""
    return "x-overflow" in turn.subject.queue.arguments and would_be_too_much(turn)


def has_time_by_argument(turn: Turn) -> bool:
    entry = turn.subject
    return "x-message-ttl" in entry.queue.arguments or properties_of(entry.message).expiration is not None


def ends_by_argument(turn: Turn) -> bool:
    return "x-expires" in turn.subject.arguments and was_not_used(turn)


def _drops_to(exchange: Callable[[Queue], str]) -> Effect:
    def drop(turn: Turn) -> None:
        queue = turn.subject
        entry = next(iter(queue))
        queue.remove(entry)
        for each in turn.host.bound_to(exchange(queue)):
            if each.routing_key == queue.name:
                enqueue(turn, turn.host.queues[each.queue], entry.message)

    return drop


drop_by_arguments = _drops_to(lambda queue: str(queue.arguments.get("x-dead-letter-exchange")))
drop_to_nowhere = _drops_to(lambda _: "nowhere")
drop_to_the_policy = _drops_to(lambda _: "amq.direct")


def differs_from_what_holds(turn: Turn) -> bool:
    """Compares the length that is asked for with the one that holds, policy and all."""
    queue = turn.host.queues.get(turn.event.queue)
    holds = queue is not None and turn.event.arguments.get(f"x-{LENGTH}") != asked(queue, LENGTH)
    return exists_otherwise(turn) or holds


def is_never_other(_: Turn) -> bool:
    return False
