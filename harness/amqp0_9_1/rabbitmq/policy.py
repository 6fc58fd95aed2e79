"""Where RabbitMQ's documents allow several behaviours: one field per choice, beside those of 0-9-1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.amqp0_9_1.peer import policy
from harness.amqp0_9_1.wire.vocabulary import NOT_ALLOWED
from harness.peers.policy import variants


@dataclass(frozen=True, slots=True)
class Policy(policy.Policy):
    """One legal way to serve the extensions. What 0-9-1 leaves open is as RabbitMQ's documents have it."""

    extensions: Literal["unknown", "serve"] = "serve"
    redelivery_limit: int = 1 << 30
    """Only queues that are declared with a limit have one."""
    beyond_channel_max: int = NOT_ALLOWED
    """rabbitmq/channels.channel-max: The guide shows the code."""
    chunks: Literal["of one message", "of all there is"] = "of one message"
    """rabbitmq/streams.offset-last: Messages of a stream that are written, found and filtered together."""
    replies_count_as_routed: bool = True
    """rabbitmq/direct-reply-to.mandatory:
    A reply with mandatory is delivered, and nothing more; or a Return comes as well, as until 4.1."""


DEFAULT: Final = Policy()
_SETTLED: Final[Mapping[str, Sequence[object]]] = {
    "extensions": [DEFAULT.extensions],
    "redelivery_limit": [DEFAULT.redelivery_limit],
    "beyond_channel_max": [DEFAULT.beyond_channel_max],
    "type_change": [DEFAULT.type_change],
    "passive_no_wait": [DEFAULT.passive_no_wait],
    "contested_types": [DEFAULT.contested_types],
    "default_unbind": [DEFAULT.default_unbind],
    "blank_exchange": [DEFAULT.blank_exchange],
    "unroutable_code": [DEFAULT.unroutable_code],
    "predeclared_durable": [DEFAULT.predeclared_durable],
    "cancel_without_queue": [DEFAULT.cancel_without_queue],
}
"""What 0-9-1 leaves open and this document does not."""
_OTHERS: Final[Mapping[str, Sequence[object]]] = {**policy.OTHERS, **_SETTLED}
VARIANTS: Final = {
    name: each for name, each in variants(DEFAULT, _OTHERS, policy.says).items() if each != DEFAULT
}
"""Every single departure from the default policy, by a name that says which."""
