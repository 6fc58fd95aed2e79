"""The bounds that hostile peers run into, one by one, on a transport that says what the test wrote down."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import Received, Silence
from harness.amqp0_9_1.client.tests.test_client import Kept, Script
from harness.amqp0_9_1.trials.hostile import HOSTILE
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEARTBEAT, Frame, FrameReader, method_frame
from harness.amqp0_9_1.wire.vocabulary import Queue
from harness.dialect import dialect
from harness.play import link as bounds
from harness.play.context import Context, Deadline
from harness.play.expect import OverBudget
from harness.targets.embedded import EmbeddedTarget
from harness.trials.hostile import AHEAD, Harming
from harness.wire.journal import Ended
from harness.wire.units import DecodeError

BEAT = Frame(HEARTBEAT, 0, b"").encode()


def link(script: Script, deadline: Deadline | None = None) -> Link:
    return Link(script, Context(Kept(), "test", deadline=deadline or Deadline()), "c1", "0-9-1")


def octets(channel: int, method: Method) -> bytes:
    return method_frame(channel, method).encode()


def test_nothing_is_waited_for_beyond_the_deadline_however_busy_the_peer() -> None:
    talkative = Script(*([octets(1, Queue.PurgeOk(3))] * 10))
    with pytest.raises(OverBudget, match="the time is up"):
        link(talkative, Deadline(at=0.0)).coming(2, 1.0)
    assert len(talkative.lines) == 10


def test_a_deadline_far_away_changes_nothing_on_a_virtual_clock() -> None:
    script = Script()
    assert link(script, Deadline.after(10.0, "late")).next(1, 40.0) == Silence(40.0)
    assert script.clock == 40.0


def test_what_has_come_already_is_seen_after_the_deadline() -> None:
    client = link(Script(octets(1, Queue.PurgeOk(3)) + octets(2, Queue.BindOk())))
    client.next(2, 1.0)
    client.context.deadline = Deadline(at=0.0)
    assert client.next(1, 1.0) == Received(1, Queue.PurgeOk(3))


def test_heartbeats_for_ever_do_not_hold_who_waits_for_what_comes() -> None:
    client = link(Script(*([BEAT] * 5000)))
    assert client.coming(1, 1.0) is None


@pytest.mark.parametrize(("bound", "most"), [("MOST_UNITS", 50), ("MOST_OCTETS", 400)])
def test_a_peer_that_talks_without_end_is_stopped(
    bound: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, bound, most)
    client = link(Script(*([BEAT] * 200)))
    with pytest.raises(OverBudget, match="talks without end"):
        client.next(1, 1.0)
    assert len(client.transcript) == 51


def test_every_connection_is_closed_whatever_one_of_them_comes_to() -> None:
    target, kept = EmbeddedTarget(), Kept()
    context = Context(kept, "test")
    session = dialect("0-9-1").speaker.session(target, context)
    broker = session.__enter__()
    for _ in range(3):
        broker.connection()
    context.deadline = Deadline(at=0.0)
    with pytest.raises(OverBudget):
        session.__exit__(None, None, None)
    assert [event.by for event in kept.events if isinstance(event, Ended)] == ["harness"] * 3


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_peer_says_no_more_ahead_than_it_may(name: str) -> None:
    connection = Harming(HOSTILE[name], dialect("0-9-1").proof.peer()).connect(0.0)
    for _ in range(100):
        if (timer := connection.next_timer()) is not None:
            connection.tick(timer)
    assert len(connection.take()) < 2 * AHEAD


@pytest.mark.parametrize("name", ["heartbeats", "channel-0", "other-channels", "deliveries", "endless-body"])
def test_what_is_endless_is_made_of_valid_frames(name: str) -> None:
    reader, pieces = FrameReader(), HOSTILE[name].says()
    for _ in range(3):
        for _, unit in reader.feed(next(pieces)):
            assert isinstance(unit, Frame)
            if unit.type == 1:
                unit.method()


def test_tables_nested_deeper_than_any_stack_are_a_typed_error() -> None:
    (unit,) = [unit for _, unit in FrameReader().feed(next(HOSTILE["nested"].says()))]
    assert isinstance(unit, Frame)
    with pytest.raises(DecodeError):
        unit.method()
