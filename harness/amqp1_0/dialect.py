"""AMQP 1.0 as those above the harness need it."""

from weakref import WeakKeyDictionary

from harness.amqp1_0.broken.deviations import Fault, Interposer
from harness.amqp1_0.broken.fakes import FAKES
from harness.amqp1_0.broken.footprint import units
from harness.amqp1_0.broken.harmless import HARMLESS
from harness.amqp1_0.client.container import Container, Layers
from harness.amqp1_0.client.opening import OPENING
from harness.amqp1_0.client.promises import LOOKS
from harness.amqp1_0.peer import TABLES, Peer
from harness.amqp1_0.peer.policy import DEFAULT, VARIANTS
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.commands import COMMANDS
from harness.amqp1_0.wire.annotate import annotate
from harness.amqp1_0.wire.composites import CLASSES, Composite, choices
from harness.amqp1_0.wire.frames import SASL_HEADER
from harness.amqp1_0.wire.performatives import AmqpError
from harness.dialect import Dialect
from harness.peers.proof import Proof
from harness.play.context import Context
from harness.play.hosting import Host
from harness.play.speaker import Speaker
from harness.targets.target import Target

DOCUMENT = "1-0"
NAME = "AMQP 1.0"
_LAYERS: WeakKeyDictionary[Target, Layers] = WeakKeyDictionary()


def _container(target: Target, context: Context) -> Container:
    return Container(
        lambda: target.connect(DOCUMENT),
        target.endpoint(),
        context,
        DOCUMENT,
        _LAYERS.setdefault(target, Layers()),
        lambda: target.secure_port(DOCUMENT),
    )


def _asks(container: Container) -> None:
    connection = container.connection()
    connection.beats()
    connection.begin()


DIALECT = Dialect(
    Speaker(
        document=DOCUMENT,
        name=NAME,
        fixture=_container,
        opening=OPENING,
        asks=_asks,
        looks=LOOKS,
        header=SASL_HEADER,
    ),
    Proof(
        make=lambda policy, tables, taken: Peer(policy, tables, taken=taken),
        tables=TABLES,
        default=DEFAULT,
        policies=VARIANTS,
        fault=Fault,
        interposer=Interposer,
        wrong_answer=("internal-error", refuse(AmqpError.INTERNAL_ERROR)),
        units=units,
        events=Composite,
        harmless=HARMLESS,
        fakes=FAKES,
    ),
    annotate,
    {
        str(each.spec.code): name
        for name, each in CLASSES.items()
        if "frame" in each.spec.provides or "sasl-frame" in each.spec.provides
    },
    {str(int(number)): name for name, number in choices("sasl-code").items()},
    Host(DOCUMENT, NAME, lambda target, context: Client(target, context, DOCUMENT), COMMANDS),
)
