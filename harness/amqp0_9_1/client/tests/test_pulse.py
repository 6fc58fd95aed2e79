"""Heartbeats over time, on the reference peer in memory."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.pulse import Pulse
from harness.play.context import Context
from harness.play.expect import ControlFailed
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Event, Expected, Grade
from harness.wire.transport import Transport, Unreachable


class Kept:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, event: Event) -> None:
        self.events.append(event)


def broker(reachable: int = 9) -> tuple[Broker, Kept]:
    """A broker in memory that can be reached so often."""
    target, kept, left = EmbeddedTarget(), Kept(), iter(range(reachable))

    def connect() -> Transport:
        if next(left, None) is None:
            raise Unreachable("nobody is there")
        return target.connect("0-9-1")

    return Broker(connect, target.endpoint(), Context(kept, "test"), "0-9-1"), kept


def test_intervals_pass_while_we_speak() -> None:
    pulse = Pulse(broker()[0])
    pulse.passes(3, pulse.connection.heartbeat)
    assert pulse.offered
    assert pulse.now == 3
    assert not pulse.ended
    assert pulse.heartbeats == 6
    assert pulse.longest_silence() == 0.5
    assert pulse.since_we_spoke == 0.5


def test_the_end_comes_when_we_are_silent() -> None:
    pulse = Pulse(broker()[0])
    pulse.passes(9)
    assert pulse.ended
    assert 2 <= pulse.since_we_spoke <= 3
    assert pulse.now < 9


def test_heartbeats_begin_before_open() -> None:
    pulse = Pulse(broker()[0], opened=False)
    pulse.passes(1)
    assert pulse.heartbeats == 2
    assert pulse.longest_silence(since=0.5) <= 0.5


def test_a_reading_makes_another_fact_legal() -> None:
    using, kept = broker()
    using.started()
    using.judge("this", "that", False, "by another sentence")
    (judged,) = [each for each in kept.events if isinstance(each, Expected)]
    assert (judged.grade, judged.actual, judged.reading) == (Grade.TOLERATED, "that", "by another sentence")


def test_a_server_that_is_gone_amid_a_scenario_fails_a_control() -> None:
    gone, _ = broker(reachable=1)
    gone.started()
    with pytest.raises(ControlFailed, match="opening another connection was answered by nobody"):
        gone.started()
    never, _ = broker(reachable=0)
    with pytest.raises(Unreachable):
        never.started()
