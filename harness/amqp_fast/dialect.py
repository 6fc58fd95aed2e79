"""AMQP/Fast as those above the harness need it."""

from harness.amqp_fast.broken.deviations import Fault, Interposer
from harness.amqp_fast.broken.fakes import FAKES
from harness.amqp_fast.broken.footprint import units
from harness.amqp_fast.broken.harmless import HARMLESS
from harness.amqp_fast.client.opening import OPENING
from harness.amqp_fast.client.outcomes import CODES
from harness.amqp_fast.client.promises import LOOKS
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer import TABLES, Peer
from harness.amqp_fast.peer.policy import DEFAULT, VARIANTS
from harness.amqp_fast.peer.refusals import INTERNAL
from harness.amqp_fast.wire.annotate import annotate
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Initiation
from harness.amqp_fast.wire.vocabulary import COMMANDS, Connection
from harness.dialect import Dialect
from harness.peers.proof import Proof
from harness.play.context import Context
from harness.play.speaker import Speaker
from harness.targets.target import Target

DOCUMENT = "fast"
NAME = "AMQP/Fast"


def _server(target: Target, context: Context) -> Server:
    return Server(lambda: target.connect(DOCUMENT), target.endpoint(), context, DOCUMENT)


DIALECT = Dialect(
    Speaker(
        document=DOCUMENT,
        name=NAME,
        fixture=_server,
        opening=OPENING,
        asks=lambda server: server.connection().channel(),
        looks=LOOKS,
        header=Initiation().encode(),
    ),
    Proof(
        make=lambda policy, tables, taken: Peer(policy, tables, taken=taken),
        tables=TABLES,
        default=DEFAULT,
        policies=VARIANTS,
        fault=Fault,
        interposer=Interposer,
        wrong_answer=("541", lambda _: (Connection.Close(INTERNAL, "no"),)),
        units=units,
        events=Command,
        harmless=HARMLESS,
        fakes=FAKES,
    ),
    annotate,
    {str(number): command.full_name for number, command in COMMANDS.items()},
    {str(number): name for number, name in CODES.items()},
)
