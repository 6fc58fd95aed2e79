"""What a log gains: a line of a kind that the same without a fault does not leave."""

import pytest

from harness.amqp0_9_1.client.broker import Broker
from harness.play.context import Context
from harness.play.expect import Unmet
from harness.play.log import Log, kind
from harness.targets.embedded import EmbeddedTarget


class Kept:
    """A journal that keeps what was judged."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def write(self, event: object) -> None:
        self.events.append(event)


@pytest.fixture
def lines() -> list[str]:
    return ["started"]


@pytest.fixture
def log(lines: list[str]) -> Log:
    target = EmbeddedTarget()
    context = Context(Kept(), "test", facilities=target.facilities)
    broker = Broker(lambda: target.connect("0-9-1"), target.endpoint(), context, "0-9-1")
    return Log(lambda: "\n".join(lines), broker.lookout().link)


def test_a_kind_is_what_is_not_numbered() -> None:
    one = "2026-11-22 07:40:01.123456+00:00 [warning] <0.812.0> closing AMQP connection (127.0.0.1:43210)"
    other = "2026-11-23 08:00:00.000001+00:00 [warning] <0.9.0> closing AMQP connection (127.0.0.1:1)"
    assert kind(one) == kind(other) == "warning closing AMQP connection"


def test_a_line_of_another_kind_is_gained(log: Log, lines: list[str]) -> None:
    with log.usual():
        lines.append("1: closed")
    lines.append("2: closed by force")
    log.gains("the end")


@pytest.mark.parametrize("late", [[], ["2: closed"], ["1: closed", "3: closed"]])
def test_what_is_always_logged_is_no_gain(log: Log, lines: list[str], late: list[str]) -> None:
    with log.usual():
        lines.append("1: closed")
    lines.extend(late)
    with pytest.raises(Unmet, match="only what is always logged"):
        log.gains("the end")


def test_what_was_logged_before_is_no_gain(log: Log, lines: list[str]) -> None:
    lines.append("1: closed by force")
    with log.usual():
        lines.append("2: closed")
    with pytest.raises(Unmet):
        log.gains("the end")


def test_nothing_of_the_log_gets_into_the_evidence(log: Log, lines: list[str]) -> None:
    kept = log._link.context.journal
    assert isinstance(kept, Kept)
    with log.usual():
        lines.append("the password is sesame")
    lines.append("the password was sesame")
    log.gains("the end")
    assert kept.events
    assert "sesame" not in str(kept.events)
