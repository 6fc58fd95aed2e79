"""What is asked of a queue or an exchange: by arguments of its Declare, and by a policy for its name.

A policy here is what an operator of RabbitMQ sets: a pattern of names, and values for what arguments say too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.amqp0_9_1.peer.entities import Exchange, Queue


@dataclass(frozen=True, slots=True)
class Standing:
    """A policy that is set: how names begin that it is for, and what it says, in RabbitMQ's terms."""

    begins: str
    says: Mapping[str, object]


POLICIES: Final[Mapping[str, Standing]] = {
    "message-ttl": Standing("conformance-ttl-", {"message-ttl": 150}),
    "expires": Standing("conformance-expires-", {"expires": 300}),
    "max-length": Standing("conformance-length-", {"max-length": 2}),
    "dead-letter-exchange": Standing(
        "conformance-dead-", {"dead-letter-exchange": "amq.direct", "max-length": 1}
    ),
    "alternate-exchange": Standing("conformance-alternate-", {"alternate-exchange": "amq.direct"}),
    "operator": Standing("conformance-operator-", {"max-length": 2}),
}
"""The policies of the facility "policies", which tells a scenario how names begin that they are for.

Other targets set the same ones; there "operator" is an operator policy, beside a policy that says 5.
"""


def asked(entity: Queue | Exchange, key: str) -> object:
    """Give what is asked of an entity under a policy's key ("message-ttl"); None where it is nothing.

    The argument has the same name behind "x-". It goes before a policy; of two numbers the lower holds.
    """
    argument = entity.arguments.get(_ARGUMENTS.get(key, f"x-{key}"))
    policy = next(
        (
            each.says[key]
            for each in POLICIES.values()
            if entity.name.startswith(each.begins) and key in each.says
        ),
        None,
    )
    if isinstance(argument, int) and isinstance(policy, int):
        return min(argument, policy)
    return policy if argument is None else argument


_ARGUMENTS: Final = {"alternate-exchange": "alternate-exchange"}
"""Arguments that are not called as in a policy with "x-" before it."""
