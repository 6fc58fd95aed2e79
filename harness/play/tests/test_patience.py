"""Slow is not silent: patience counts from the last octet that moved, and the budget ends it all."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest

from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.link import Link as Link0_9_1
from harness.amqp0_9_1.client.outcomes import answered
from harness.amqp0_9_1.client.tests.test_client import Kept
from harness.amqp0_9_1.wire.frames import HEARTBEAT, Frame, content_frames, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from harness.amqp1_0.client.link import CONNECTION
from harness.amqp1_0.client.link import Link as Link1_0
from harness.amqp1_0.wire.frames import amqp_frame, empty_frame
from harness.amqp1_0.wire.performatives import Begin
from harness.play.context import Context, Deadline, Patience
from harness.play.expect import ControlFailed, Late, OverBudget, StillComing, Unmet
from harness.play.link import Silence
from harness.targets.target import Endpoint

ANSWER = method_frame(1, Queue.BindOk()).encode()
BEAT = Frame(HEARTBEAT, 0, b"").encode()
BEGIN = amqp_frame(0, Begin(7, 0, 1, 1)).encode()
DELIVER = Basic.Deliver("tag", 1, False, "", "key")
CONTENT = [each.encode() for each in content_frames(1, DELIVER, Basic.Properties(), b"abcdef", 10)]


class Timed:
    """Says each line so many seconds behind the one before; what is sent leaves octet by octet."""

    endpoint = "timed"

    def __init__(self, lines: Iterable[tuple[float, bytes]], leaves: float = 0.0, late: float = 0.0) -> None:
        self.clock, self.late = 0.0, late
        self.waiting: list[tuple[float, bytes]] = []
        at = 0.0
        for pause, octets in lines:
            self.waiting.append((at := at + pause, octets))
        self.leaves, self.gone_at = leaves, 0.0

    def now(self) -> float:
        return self.clock

    def send(self, octets: bytes) -> bool:
        self.gone_at = self.clock + self.leaves * len(octets)
        return True

    def outgoing(self) -> int:
        return int(max(self.gone_at - self.clock, 0.0) / self.leaves) if self.leaves else 0

    def receive(self, deadline: float) -> bytes | None:
        if self.waiting and self.waiting[0][0] <= deadline:
            at, octets = self.waiting.pop(0)
            self.clock = max(self.clock, at)
            return octets
        self.clock = max(self.clock, deadline) + self.late
        return None

    def close(self, reset: bool = False) -> None:
        pass


def spelled(octets: bytes, pause: float) -> list[tuple[float, bytes]]:
    return [(pause, bytes((each,))) for each in octets]


def link(kind: type[Any], *lines: tuple[float, bytes], **more: Any) -> tuple[Any, Timed]:
    transport = Timed(lines, more.pop("leaves", 0.0), more.pop("late", 0.0))
    return kind(transport, Context(Kept(), "test", **more), "c1", "protocol"), transport


BOTH = pytest.mark.parametrize(
    ("kind", "place", "octets", "alive"),
    [(Link0_9_1, 1, ANSWER, BEAT), (Link1_0, CONNECTION, BEGIN, empty_frame().encode())],
    ids=["0-9-1", "1-0"],
)


@BOTH
def test_a_frame_that_trickles_is_awaited(kind: Any, place: int, octets: bytes, alive: bytes) -> None:
    del alive
    client, transport = link(kind, *spelled(octets, 0.9))
    assert not isinstance(client.next(place, 1.0), Silence)
    assert transport.clock == pytest.approx(0.9 * len(octets))


@BOTH
def test_silence_behind_a_whole_frame_is_silence(kind: Any, place: int, octets: bytes, alive: bytes) -> None:
    del alive
    client, transport = link(kind, (0.0, octets))
    client.next(place, 1.0)
    assert client.next(place, 1.0) == Silence(1.0)
    assert transport.clock == 1.0


@BOTH
def test_a_frame_that_breaks_off_is_silence_in_the_end(
    kind: Any, place: int, octets: bytes, alive: bytes
) -> None:
    del alive
    client, transport = link(kind, (0.2, octets[:-1]), patience=Patience(answer=2.0))
    assert isinstance(client.next(place, 0.3), Silence)
    assert transport.clock == 2.2


@BOTH
def test_what_only_says_that_the_peer_lives_holds_nobody(
    kind: Any, place: int, octets: bytes, alive: bytes
) -> None:
    del octets
    client, transport = link(kind, *[(0.5, alive)] * 100)
    assert isinstance(client.next(place, 1.0), Silence)
    assert transport.clock <= 1.5


@BOTH
def test_what_only_says_that_the_peer_lives_holds_nobody_octet_by_octet_either(
    kind: Any, place: int, octets: bytes, alive: bytes
) -> None:
    del octets
    client, transport = link(kind, *spelled(alive * 100, 0.1))
    assert isinstance(client.next(place, 1.5), Silence)
    assert transport.clock <= 0.1 * 3 * len(alive)


@BOTH
def test_a_peer_that_trickles_without_end_costs_the_budget(
    kind: Any, place: int, octets: bytes, alive: bytes
) -> None:
    del alive
    # The size says a megabyte.
    endless = (
        octets[:3] + b"\x00\x0f" + octets[5:7] if kind is Link0_9_1 else b"\x00\x0f\x00\x00" + octets[4:8]
    )
    client, transport = link(kind, (0.0, endless), *[(1.0, b"\x00")] * 1000, patience=Patience(budget=20.0))
    with pytest.raises(StillComing, match="still coming"):
        client.next(place, 3.0)
    assert transport.clock < 25


def test_a_message_is_unfinished_until_its_body_has_come() -> None:
    lines = [(0.2, CONTENT[0]), *[(0.9, each) for each in CONTENT[1:]]]
    client, transport = link(Link0_9_1, *lines)
    assert client.next(1, 0.3).body == b"abcdef"
    assert transport.clock == pytest.approx(0.2 + 0.9 * (len(CONTENT) - 1))


def test_an_answer_behind_other_traffic_is_awaited() -> None:
    other = method_frame(2, Queue.BindOk()).encode()
    client, _ = link(Link0_9_1, *[(0.9, other)] * 10, (0.9, ANSWER))
    assert client.next(1, 1.0).method == Queue.BindOk()


def test_patience_begins_when_our_octets_have_left() -> None:
    client, transport = link(Link0_9_1, (9.0, ANSWER), leaves=0.01)
    client.send_octets(bytes(800))
    assert client.next(1, 3.0).method == Queue.BindOk()
    client, transport = link(Link0_9_1, leaves=0.01)
    client.send_octets(bytes(800))
    assert isinstance(client.next(1, 3.0), Silence)
    assert transport.clock == pytest.approx(11.0, abs=0.2)


def test_a_peer_that_takes_nothing_of_ours_is_silent() -> None:
    client, transport = link(Link0_9_1, leaves=1e9)
    client.send_octets(b"x")
    assert isinstance(client.next(1, 3.0), Silence)
    assert transport.clock == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize(("moving", "stop"), [(True, StillComing), (False, OverBudget)])
def test_time_that_is_up_says_whether_anything_was_moving(moving: bool, stop: type[OverBudget]) -> None:
    client, _ = link(Link0_9_1, *[(0.1, ANSWER)] * moving)
    assert isinstance(client.next(2, 1.0), Silence)
    client.context.deadline = Deadline(at=0.0)
    with pytest.raises(OverBudget) as stopped:
        client.next(3, 1.0)
    assert type(stopped.value) is stop


class Blocking(Timed):
    """Takes what is sent after so many seconds, or gives it up."""

    def __init__(self, seconds: float, takes: bool) -> None:
        super().__init__(())
        self.seconds, self.takes = seconds, takes

    def send(self, octets: bytes) -> bool:
        del octets
        self.clock += self.seconds
        return self.takes


@pytest.mark.parametrize(
    ("seconds", "takes", "stop"),
    [(9.0, True, StillComing), (0.0, True, OverBudget), (9.0, False, OverBudget)],
)
def test_time_that_is_up_behind_a_long_send_is_no_error(
    seconds: float, takes: bool, stop: type[OverBudget]
) -> None:
    client = Link0_9_1(Blocking(seconds, takes), Context(Kept(), "test"), "c1", "protocol")
    client._push(ANSWER)
    client.context.deadline = Deadline(at=0.0)
    with pytest.raises(OverBudget) as stopped:
        client.next(1, 1.0)
    assert type(stopped.value) is stop


@pytest.mark.parametrize(("late", "stop"), [(0.0, Unmet), (1.0, Late)])
def test_silence_is_no_finding_where_this_machine_was_late(late: float, stop: type[Exception]) -> None:
    client, _ = link(Link0_9_1, late=late)
    with pytest.raises(stop):
        client.expect(1, answered(Queue.BindOk))


@pytest.mark.parametrize(("late", "stop"), [(0.0, ControlFailed), (1.0, Late)])
def test_a_control_without_answer_has_not_failed_where_this_machine_was_late(
    late: float, stop: type[Exception]
) -> None:
    client, _ = link(Link0_9_1, late=late)
    assert type(client.failed("a control", client.next(1, 3.0))) is stop


def test_a_long_silence_is_a_finding_although_this_machine_was_a_little_late() -> None:
    for seconds, late, stop in ((3.0, 0.5, Late), (10.0, 0.5, Unmet), (10.0, 2.0, Late)):
        client, _ = link(Link0_9_1, late=late)
        client.context.patience = Patience(answer=seconds)
        with pytest.raises(stop):
            client.expect(1, answered(Queue.BindOk))


@pytest.mark.parametrize(("late", "stop"), [(0.0, Unmet), (1.0, Late)])
def test_what_time_decides_is_no_finding_where_this_machine_was_late(
    late: float, stop: type[Exception]
) -> None:
    client, _ = link(Link0_9_1, late=late)
    client.listen(1.0)
    with pytest.raises(stop):
        client.judged("in time", "late", holds=False)
    client.judged("in time", "late", holds=True)


def test_what_no_time_decides_is_a_finding_on_a_machine_however_late() -> None:
    client, _ = link(Link0_9_1, (0.0, ANSWER), late=1.0)
    client.context.late = 5.0
    with pytest.raises(Unmet):
        client.expect(1, answered(Queue.PurgeOk))


def test_a_control_on_a_slow_way_is_awaited() -> None:
    client, _ = link(Link0_9_1, *spelled(ANSWER, 2.9))
    channel = AmqpChannel(AmqpConnection(client, client.context, Endpoint("timed", 0)), 1)
    assert channel.control("it", Queue.BindOk) == Queue.BindOk()


def test_what_the_targets_tools_take_is_not_the_scenarios_time() -> None:
    def slow_tool(name: str) -> dict[str, str]:
        time.sleep(0.05)
        return {"used": name}

    context = Context(Kept(), "test", facility=slow_tool, deadline=Deadline.after(10.0, "its own"))
    before = context.deadline.at
    assert context.use("log") == {"used": "log"}
    assert context.deadline.at >= before + 0.05
    context.latest = Deadline(before, "that of the run")
    context.use("log")
    assert context.deadline == context.latest
