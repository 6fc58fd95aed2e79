"""A server may agree to one channel and no more: what needs another is not run, and nobody is accused."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.client.tests.test_client import Kept
from harness.amqp0_9_1.peer import Peer
from harness.amqp0_9_1.peer.policy import Policy
from harness.dialect import dialect
from harness.peers.peer import PeerServer
from harness.play.context import Context
from harness.play.expect import NotRun
from harness.targets.embedded import EmbeddedTarget

ONE = Policy(channel_max=1)


class Narrow(EmbeddedTarget):
    """The reference peers, with a single channel in 0-9-1."""

    def make(self, document: str) -> PeerServer:
        return Peer(ONE) if document == "0-9-1" else super().make(document)


def test_it_is_taken_for_no_barrier() -> None:
    target = Narrow()
    banner = dialect("0-9-1").speaker.probe(target)
    assert banner.barrier is None
    dialect("0-9-1").speaker.serves(target)


def test_what_needs_another_channel_says_so() -> None:
    target, context = Narrow(), Context(Kept(), "test")
    with dialect("0-9-1").speaker.session(target, context) as broker:
        connection = broker.connection()
        connection.channel()
        with pytest.raises(NotRun, match="channel-max of 1"):
            connection.channel()
