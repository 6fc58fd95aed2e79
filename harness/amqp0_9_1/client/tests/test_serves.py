"""Who is asked whether it still serves may be late: a server that is taken for gone ends a run."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.client.tests.late import SlowToSend
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.dialect import dialect
from harness.wire.transport import Unreachable


def test_one_that_is_late_is_still_there() -> None:
    dialect("0-9-1").speaker.serves(SlowToSend(Connection.OpenOk, 15.0))


def test_one_that_is_silent_for_longer_is_gone() -> None:
    with pytest.raises(Unreachable, match=r"connection\.open was answered by silence"):
        dialect("0-9-1").speaker.serves(SlowToSend(Connection.OpenOk, 30.0))
