"""What holds for a time only: a miss behind that time is our own lateness, and no finding."""

import pytest

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.wire.vocabulary import Channel, Queue
from harness.play.context import Context
from harness.play.expect import ControlFailed, Late, Unmet
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Unkept

MISSING = Queue.Declare("nowhere", passive=True)


def broker() -> Broker:
    target = EmbeddedTarget()
    return Broker(lambda: target.connect("0-9-1"), target.endpoint(), Context(Unkept(), "before"), "0-9-1")


def is_there_too_late(judged: Broker, channel: AmqpChannel) -> None:
    with judged.before(1.0):
        channel.wait(2.0)
        channel.tries(MISSING, Queue.DeclareOk)


def test_a_miss_in_time_is_a_finding() -> None:
    judged = broker()
    channel = judged.channel()
    with pytest.raises(Unmet), judged.before(1.0):
        channel.tries(MISSING, Queue.DeclareOk)
    channel = judged.channel()
    with pytest.raises(ControlFailed), judged.before(1.0):
        channel.ask(MISSING)


def test_a_miss_behind_its_time_is_late() -> None:
    judged = broker()
    channel = judged.channel()
    with pytest.raises(Late, match=r"took 2\.00 s to ask for what holds for 1\.0 s"):
        is_there_too_late(judged, channel)


def test_what_holds_holds_however_late() -> None:
    judged = broker()
    channel = judged.channel()
    with judged.before(1.0):
        channel.wait(2.0)
        channel.tries(MISSING, Channel.Close)
