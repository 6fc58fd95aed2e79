"""What is asked of a queue or an exchange: by arguments of its Declare, and by a policy for its name.

A policy here is what an operator of RabbitMQ sets: a pattern of names, and values for what arguments say too.
"""

from collections.abc import Mapping
from typing import Final

from harness.amqp0_9_1.peer.entities import Exchange, Queue

POLICIES: Final[Mapping[str, Mapping[str, object]]] = {}
"""By the beginning of a name, what the policy for such names says, in the terms of RabbitMQ's policies.

The facility "policies" tells a scenario these beginnings; other targets set the same ones.
"""


def asked(entity: Queue | Exchange, key: str) -> object:
    """Give what is asked of an entity under a policy's key ("message-ttl"); None where it is nothing.

    The argument has the same name behind "x-". It goes before a policy; of two numbers the lower holds.
    """
    argument = entity.arguments.get(_ARGUMENTS.get(key, f"x-{key}"))
    policy = next(
        (says.get(key) for begins, says in POLICIES.items() if entity.name.startswith(begins)), None
    )
    if isinstance(argument, int) and isinstance(policy, int):
        return min(argument, policy)
    return policy if argument is None else argument


_ARGUMENTS: Final = {"alternate-exchange": "alternate-exchange"}
"""Arguments that are not called as in a policy with "x-" before it."""
