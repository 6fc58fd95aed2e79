"""Where RabbitMQ's documents allow several behaviours: one field per choice, beside those of 0-9-1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.amqp0_9_1.peer import policy
from harness.amqp0_9_1.peer.policy import PRIORITIES, Refusal
from harness.amqp0_9_1.wire.field_tables import Table
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, NOT_ALLOWED
from harness.peers.policy import variants


@dataclass(frozen=True, slots=True)
class Policy(policy.Policy):
    """One legal way to serve the extensions. What 0-9-1 leaves open is as RabbitMQ's documents have it."""

    extensions: Literal["unknown", "serve"] = "serve"
    redelivery_limit: int = 1 << 30
    """Only queues that are declared with a limit have one."""
    name_limit: int = 255
    """rabbitmq/queues.long-names: With less, names are as 0-9-1 has them."""
    priorities: Literal["of every queue", "asked for"] = "asked for"
    """Only queues that are declared with priorities have them."""
    expired: Literal["at the head", "at once"] = "at the head"
    """rabbitmq/ttl.dead-behind-others:
    A message that is dead behind others: discarded when it comes to the head, or at once."""

    illegal_field_name: Refusal | Literal["accept"] = "accept"
    """rabbitmq/ae.unroutable: The argument alternate-exchange has a name that 4.2.5.5 does not allow."""
    default_exchange_bound: Refusal | Literal["serve"] = "serve"
    """rabbitmq/exchange.bind.source.default-exchange:
    Bind or Unbind of an exchange and the default one: served, or refused with a code nobody names."""
    published_to_internal: Literal["refuse", "drop"] = "refuse"
    """rabbitmq/exchange.declare.internal.not-for-publishers:
    Publish to an internal exchange: 403, or the message goes nowhere."""
    confirmations: Literal["one by one", "several at once", "last come first"] = "one by one"
    """rabbitmq/confirms.multiple: Publications are confirmed at once, or later together;
    rabbitmq/confirms.order: or in another order."""
    blocked_notice: Literal["who publishes", "who has published"] = "who publishes"
    """rabbitmq/connection-blocked.told: Told of an alarm is who publishes then, or who has before, too."""
    outside: Literal["refuse", "serve"] = "refuse"
    """rabbitmq/specification.flow: What is not supported is refused, or served as 0-9-1 has it."""
    beyond_channel_max: int = NOT_ALLOWED
    """rabbitmq/channels.channel-max: The guide shows the code."""
    chunks: Literal["of one message", "of all there is"] = "of one message"
    """rabbitmq/streams.offset-last: Messages of a stream that are written, found and filtered together."""
    replies_count_as_routed: bool = True
    """rabbitmq/direct-reply-to.mandatory:
    A reply with mandatory is delivered, and nothing more; or a Return comes as well, as until 4.1."""

    def levels(self, arguments: Table) -> int:
        """Count the levels of a queue: one for each priority that it asks for, and one for none."""
        highest = arguments.get(PRIORITIES, 0)
        return highest + 1 if isinstance(highest, int) else 1


DEFAULT: Final = Policy()
_SETTLED: Final[Mapping[str, Sequence[object]]] = {
    "extensions": [DEFAULT.extensions],
    "redelivery_limit": [DEFAULT.redelivery_limit],
    "rejected": ["redeliver"],
    "overflow": [DEFAULT.overflow],
    "pause_publishers_at": [DEFAULT.pause_publishers_at],
    "without_requeue": [DEFAULT.without_requeue],
    "name_limit": [127],
    "priorities": [DEFAULT.priorities],
    "priority_levels": [DEFAULT.priority_levels],
    "beyond_channel_max": [DEFAULT.beyond_channel_max],
    "type_change": [DEFAULT.type_change],
    "passive_no_wait": [DEFAULT.passive_no_wait],
    "contested_types": [DEFAULT.contested_types],
    "default_unbind": [DEFAULT.default_unbind],
    "blank_exchange": [DEFAULT.blank_exchange],
    "unroutable_code": [DEFAULT.unroutable_code],
    "predeclared_durable": [DEFAULT.predeclared_durable],
    "cancel_without_queue": [DEFAULT.cancel_without_queue],
    "illegal_field_name": [DEFAULT.illegal_field_name],
}
"""What 0-9-1 leaves open and this document does not."""
_LEGAL: Final[Mapping[str, Sequence[object]]] = {"default_exchange_bound": [Refusal(ACCESS_REFUSED)]}
"""By choice the values that are legal beside the default, where its type does not list them."""
_OTHERS: Final[Mapping[str, Sequence[object]]] = {**policy.OTHERS, **_SETTLED, **_LEGAL}
VARIANTS: Final = {
    name: each for name, each in variants(DEFAULT, _OTHERS, policy.says).items() if each != DEFAULT
}
"""Every single departure from the default policy, by a name that says which."""
