"""Who is asked whether it still serves may be late: a server that is taken for gone ends a run."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.broken.provocations import delays
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.dialect import dialect
from harness.peers.peer import PeerServer
from harness.targets.embedded import EmbeddedTarget
from harness.wire.transport import Unreachable


class SlowToOpen(EmbeddedTarget):
    """The reference peer whose connections are opened so many `seconds` late."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.late = delays(Connection.OpenOk, seconds)

    def make(self, document: str) -> PeerServer:
        return self.late.before(super().make(document))


def test_one_that_is_late_is_still_there() -> None:
    dialect("0-9-1").speaker.serves(SlowToOpen(15.0))


def test_one_that_is_silent_for_longer_is_gone() -> None:
    with pytest.raises(Unreachable, match=r"connection\.open was answered by silence"):
        dialect("0-9-1").speaker.serves(SlowToOpen(30.0))
