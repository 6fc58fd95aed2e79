"""What is asked of a queue or an exchange: by arguments of its Declare, and by a policy for its name.

A policy here is what an operator of RabbitMQ sets: a pattern of names, and values for what arguments say too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from harness.amqp0_9_1.peer.entities import Exchange, Queue
from harness.amqp0_9_1.peer.events import Lengthened
from harness.amqp0_9_1.peer.turn import LifeRow, LifeTurn
from harness.peers.events import Event


@dataclass(frozen=True, slots=True)
class Standing:
    """A policy that is set: how names begin that it is for, and what it says, in RabbitMQ's terms."""

    begins: str
    says: Mapping[str, object]
    priority: int = 0
    operator: bool = False
    """Whether it is an operator policy: it is in force beside a policy."""
    anywhere: bool = False
    """Whether names that have this anywhere are meant, too: its pattern has no beginning."""

    def matches(self, name: str) -> bool:
        """Say whether a name is one that it is for."""
        return self.begins in name if self.anywhere else name.startswith(self.begins)


POLICIES: Final[Mapping[str, Standing]] = {
    "message-ttl": Standing("conformance-ttl-", {"message-ttl": 150}),
    "expires": Standing("conformance-expires-", {"expires": 300}),
    "max-length": Standing("conformance-length-", {"max-length": 2}),
    "dead-letter-exchange": Standing(
        "conformance-dead-", {"dead-letter-exchange": "amq.direct", "max-length": 1}
    ),
    "overflow": Standing("conformance-overflow-", {"max-length": 1, "overflow": "reject-publish"}),
    "anywhere": Standing("-conformance-any7where-", {"max-length": 1}, anywhere=True),
    "alternate-exchange": Standing("conformance-alternate-", {"alternate-exchange": "amq.direct"}),
    "operator": Standing("conformance-operator-", {"max-length": 2}, operator=True),
    "under-operator": Standing("conformance-operator-", {"max-length": 5}),
    "two": Standing("conformance-two-", {"max-length": 3}, priority=5),
    "lower-of-two": Standing("conformance-two-", {"max-length": 1, "message-ttl": 0}, priority=1),
}
"""The policies of the facility "policies", which tells a scenario how names begin that they are for.

Other targets set the same ones.
"""
LATE: Final = Standing("conformance-late-", {"max-length": 1})
"""The policy of the facility "late-policy", which is not there before."""


def asked(entity: Queue | Exchange, key: str) -> object:
    """Give what is asked of an entity under a policy's key ("message-ttl"); None where it is nothing.

    The argument has the same name behind "x-". It goes before a policy; of several numbers the lowest holds.
    """
    said = [entity.arguments.get(_ARGUMENTS.get(key, f"x-{key}")), *_by_policies(entity, key)]
    if isinstance(entity, Queue):
        said.append(entity.policy.get(key))
    said = [each for each in said if each is not None]
    numbers = [each for each in said if isinstance(each, int)]
    return min(numbers) if numbers else next(iter(said), None)


def _by_policies(entity: Queue | Exchange, key: str) -> Iterator[object]:
    """Yield what the policy of the highest priority, and the operator policy of the highest, say."""
    for operator in (False, True):
        standing = (
            each for each in POLICIES.values() if each.operator is operator and each.matches(entity.name)
        )
        first = max(standing, key=lambda each: each.priority, default=None)
        yield first and first.says.get(key)


_ARGUMENTS: Final = {"alternate-exchange": "alternate-exchange"}
"""Arguments that are not called as in a policy with "x-" before it."""


@dataclass(slots=True)
class PolicySet(Event):
    """An operator has set a policy, or taken it back."""

    says: Mapping[str, object]


def come_into_force(turn: LifeTurn[PolicySet, Queue]) -> None:
    """Ask of a queue what the policy says now; what is too much by it goes."""
    turn.subject.policy = turn.event.says
    turn.peer.meet(Queue, turn.about(Lengthened(), turn.subject))


POLICY = (
    LifeRow(
        "policy: comes into force on a queue that is there", Queue, PolicySet, effects=(come_into_force,)
    ),
)
