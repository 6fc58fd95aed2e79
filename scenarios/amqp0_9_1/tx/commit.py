"""tx.commit."""

from harness.amqp0_9_1.broken.deviations import changes, drops
from harness.amqp0_9_1.broken.settling_faults import nobody_is_transacted
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import refused
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.vocabulary import NOT_ALLOWED, PRECONDITION_FAILED, Tx
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.registry import broken_by, scenario

UNSELECTED = "tx.commit: refuses a channel not transacted"


@scenario("0-9-1/tx.commit.transacted")
@broken_by("needs no Select", drops(UNSELECTED))
@broken_by(
    "takes a transaction for one of the connection", changes(UNSELECTED, condition=nobody_is_transacted)
)
@broken_by("says nothing", changes(UNSELECTED, answer=None))
@broken_by("gives another code", changes(UNSELECTED, answer=refuse(NOT_ALLOWED)))
def commit_needs_a_transacted_channel(broker: Broker) -> None:
    """Commit is answered after Select; on a channel without it, it is refused, 406."""
    transacted(broker).ask(Tx.Commit())
    broker.channel().tries(Tx.Commit(), *refused(PRECONDITION_FAILED))
