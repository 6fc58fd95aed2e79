"""The toy protocol as those above the harness need it."""

from __future__ import annotations

from harness.dialect import Dialect
from harness.peers.proof import Proof
from harness.play.context import Context
from harness.play.speaker import Speaker
from harness.targets.target import Target
from harness.tests.toy.broken import FAKES, Fault, Interposer, units
from harness.tests.toy.client.connection import OPENING, Toy, words
from harness.tests.toy.peer import DEFAULT, TABLES, VARIANTS, Peer
from harness.tests.toy.wire.frames import ANNOTATOR, Frame


def _toy(target: Target, context: Context) -> Toy:
    return Toy(lambda: target.connect("toy"), target.endpoint(), context, "toy")


DIALECT = Dialect(
    Speaker(
        document="toy",
        name="AMQP toy",
        fixture=_toy,
        opening=OPENING,
        asks=lambda toy: toy.connection().says(b"ping", words(b"pong", b"PONG")),
    ),
    Proof(
        make=lambda policy, tables, taken: Peer(policy, tables, taken=taken),
        tables=TABLES,
        default=DEFAULT,
        policies=VARIANTS,
        fault=Fault,
        interposer=Interposer,
        wrong_answer=("nonsense", lambda _: Frame(b"nonsense").encode()),
        units=units,
        events=Frame,
        harmless={},
        fakes=FAKES,
    ),
    ANNOTATOR.annotate,
    {},
    {},
)
