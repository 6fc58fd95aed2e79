"""AMQP 0-9-1 as those above the harness need it."""

from dataclasses import replace
from functools import partial
from typing import Literal

from harness.amqp0_9_1.broken.deviations import Fault, Interposer
from harness.amqp0_9_1.broken.fakes import FAKES
from harness.amqp0_9_1.broken.footprint import units
from harness.amqp0_9_1.broken.harmless import HARMLESS
from harness.amqp0_9_1.client.broker import Broker, remove
from harness.amqp0_9_1.client.opening import OPENING
from harness.amqp0_9_1.client.promises import LOOKS
from harness.amqp0_9_1.peer import TABLES, Peer
from harness.amqp0_9_1.peer.policy import DEFAULT, VARIANTS
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.annotate import annotate
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR, Channel, Queue
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


def _connects(client: Client) -> None:
    """Have the client open a channel, and close the connection."""
    connection = client.connection()
    connection.channel()
    connection.close()


def _dialect(document: str, **serves: Literal["serve"]) -> Dialect:
    """Give the dialect of a document whose reference peer `serves` what it adds, by policy choices."""
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
            make=lambda policy, tables, taken: Peer(policy, tables, taken=taken),
            tables=TABLES,
            default=DEFAULT,
            policies=VARIANTS,
            settled=lambda policy: replace(policy, **serves),
            fault=Fault,
            interposer=Interposer,
            wrong_answer=("541", refuse(INTERNAL_ERROR)),
            units=units,
            events=Method,
            harmless=HARMLESS,
            fakes=FAKES,
        ),
        annotate,
        Host(document, NAME, lambda target, context: Client(target, context, DOCUMENT), _connects),
    )


DIALECT = _dialect(DOCUMENT)
ADDING = {"rabbitmq": _dialect("rabbitmq", nack="serve")}
"""By the document that adds to this one."""
