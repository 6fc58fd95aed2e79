"""Runs the dialogue tests of the peer's tables as plain functions, for the tests about those tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

from harness.amqp0_9_1.peer.tests import test_basic as test_peer_basic
from harness.amqp0_9_1.peer.tests import test_channel as test_peer_channel
from harness.amqp0_9_1.peer.tests import test_connection as test_peer_connection
from harness.amqp0_9_1.peer.tests import test_consumers as test_peer_consumers
from harness.amqp0_9_1.peer.tests import test_exchange as test_peer_exchange
from harness.amqp0_9_1.peer.tests import test_life as test_peer_life
from harness.amqp0_9_1.peer.tests import test_queue as test_peer_queue
from harness.amqp0_9_1.peer.tests import test_tx as test_peer_tx

MODULES = (
    test_peer_connection,
    test_peer_channel,
    test_peer_exchange,
    test_peer_queue,
    test_peer_basic,
    test_peer_consumers,
    test_peer_tx,
    test_peer_life,
)


def dialogues() -> Iterator[Callable[[], None]]:
    """Every test of the tables, once for each of its parameters."""
    for module in MODULES:
        yield from _of_module(module)


def _of_module(module: ModuleType) -> Iterator[Callable[[], None]]:
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        if not marks:
            yield test
            continue
        (mark,) = marks
        names, values = mark.args
        several = isinstance(names, tuple)
        for value in values:
            yield partial(test, *(value if several else (value,)))
