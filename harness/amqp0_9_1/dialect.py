"""AMQP 0-9-1 as those above the harness need it."""

from collections.abc import Iterable, Mapping
from functools import partial

from harness.amqp0_9_1.broken.deviations import Fault, Interposer
from harness.amqp0_9_1.broken.end_faults import BROAD
from harness.amqp0_9_1.broken.fakes import FAKES
from harness.amqp0_9_1.broken.footprint import units
from harness.amqp0_9_1.broken.harmless import HARMLESS
from harness.amqp0_9_1.client.broker import Broker, remove
from harness.amqp0_9_1.client.opening import OPENING
from harness.amqp0_9_1.client.outcomes import CODES
from harness.amqp0_9_1.client.promises import LOOKS
from harness.amqp0_9_1.peer import TABLES, Peer
from harness.amqp0_9_1.peer.policy import VARIANTS, Policy
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq import peer as rabbitmq
from harness.amqp0_9_1.rabbitmq import policy as rabbitmq_policy
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.server.commands import COMMANDS
from harness.amqp0_9_1.wire.annotate import annotate
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER
from harness.amqp0_9_1.wire.vocabulary import CODEC, INTERNAL_ERROR, Channel, Queue
from harness.dialect import Dialect
from harness.peers.proof import Proof
from harness.play.context import Context
from harness.play.hosting import Host
from harness.play.speaker import Speaker
from harness.targets.target import Target

DOCUMENT = "0-9-1"
NAME = "AMQP 0-9-1"


def _broker(document: str, target: Target, context: Context) -> Broker:
    return Broker(lambda: target.connect(document), target.endpoint(), context, DOCUMENT)


def _asks(broker: Broker) -> None:
    """Ask for a queue, with any answer: a broker stuck behind its connections may still open some."""
    look = Queue.Declare("amqp-conformance", passive=True)
    broker.channel().ask(look, Queue.DeclareOk, Channel.Close)


def _dialect(
    document: str, make: type[Peer], policies: Mapping[str, Policy], inherited: Iterable[str]
) -> Dialect:
    """Give the dialect of a document, which is judged on the reference peers of the class `make`."""
    return Dialect(
        Speaker(
            document=document,
            name=NAME,
            fixture=partial(_broker, document),
            opening=OPENING,
            asks=_asks,
            looks=LOOKS,
            removes=remove,
            header=PROTOCOL_HEADER,
        ),
        Proof(
            make=lambda policy, tables, taken: make(policy, tables, taken=taken),
            tables=make.right,
            default=make.default,
            policies=policies,
            fault=Fault,
            interposer=Interposer,
            wrong_answer=("541", refuse(INTERNAL_ERROR)),
            units=units,
            events=Method,
            harmless=HARMLESS,
            fakes=FAKES,
            inherited=frozenset(inherited),
            broad=BROAD,
        ),
        annotate,
        {f"{method.key >> 16}.{method.key & 0xFFFF}": name for name, method in CODEC.methods.items()},
        {str(number): name for number, name in CODES.items()},
        Host(document, NAME, lambda target, context: Client(target, context, DOCUMENT), COMMANDS),
    )


DIALECT = _dialect(DOCUMENT, Peer, VARIANTS, ())
ADDING = {
    "rabbitmq": _dialect("rabbitmq", rabbitmq.Peer, rabbitmq_policy.VARIANTS, (row.name for row in TABLES)),
}
"""By the document that adds to this one."""
