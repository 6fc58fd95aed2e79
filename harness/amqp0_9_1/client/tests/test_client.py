"""The client, on a transport that says what the test wrote down."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import (
    Closed,
    HeaderReceived,
    Received,
    Silence,
    Unreadable,
    channel_closed,
    closed_silently,
    connection_closed,
    refused,
    signature,
)
from harness.amqp0_9_1.client.transcript import Transcript
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER, Frame, RawFrame, content_frames, method_frame
from harness.amqp0_9_1.wire.vocabulary import CHANNEL_ERROR, NOT_FOUND, Basic, Channel, Connection, Queue
from harness.play.context import Context, Patience
from harness.play.expect import ControlFailed, OverBudget, Unmet
from harness.play.watching import Fold, Gaps, Watching, came
from harness.targets.target import Endpoint
from harness.wire.journal import Direction, Ended, Event, Expected, Grade, Octets, Seen
from harness.wire.transport import End

Said = bytes | End


class Script:
    """Says its lines one by one; when they are over there is silence, and time passes."""

    endpoint = "script"

    def __init__(self, *lines: Said) -> None:
        self.lines = list(lines)
        self.sent: list[bytes] = []
        self.reads = True
        self.clock = 0.0

    def now(self) -> float:
        return self.clock

    def send(self, octets: bytes) -> bool:
        self.sent.append(octets)
        return self.reads

    def receive(self, deadline: float) -> Said | None:
        if self.lines:
            self.clock += 0.001
            return self.lines.pop(0)
        self.clock = max(self.clock, deadline)
        return None

    def close(self, reset: bool = False) -> None:
        pass


class Kept:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, event: Event) -> None:
        self.events.append(event)


def link(*lines: Said, patience: Patience | None = None) -> tuple[Link, Kept, Script]:
    kept, script = Kept(), Script(*lines)
    context = Context(kept, "test", patience=patience or Patience())
    return Link(script, context, "c1", "0-9-1"), kept, script


def octets(channel: int, method: Method) -> bytes:
    return method_frame(channel, method).encode()


CLOSE = Channel.Close(NOT_FOUND, "no queue", 50, 10)
DELIVER = Basic.Deliver("tag", 1, False, "", "key")
CONTENT = [f.encode() for f in content_frames(1, DELIVER, Basic.Properties(priority=3), b"abcdef", 11)]


def test_a_method_is_seen_on_its_channel_whatever_else_comes() -> None:
    client, _, _ = link(octets(2, Queue.BindOk()) + octets(1, Queue.PurgeOk(3)))
    assert client.next(1, 1.0) == Received(1, Queue.PurgeOk(3))
    assert client.next(2, 1.0) == Received(2, Queue.BindOk())


def test_octets_may_come_one_by_one() -> None:
    client, _, _ = link(*(bytes((each,)) for each in octets(1, Queue.PurgeOk(3))))
    assert client.next(1, 1.0) == Received(1, Queue.PurgeOk(3))


def test_content_is_put_together_over_its_frames() -> None:
    client, _, _ = link(*CONTENT)
    seen = client.next(1, 1.0)
    assert isinstance(seen, Received)
    assert (seen.method, seen.body) == (DELIVER, b"abcdef")
    assert seen.properties == Basic.Properties(priority=3)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([*CONTENT[:2], octets(1, Queue.BindOk())], "a content cut off by a method"),
        (CONTENT[1:], "a content frame out of place"),
        ([CONTENT[0], CONTENT[2]], "a content frame out of place"),
        ([RawFrame(1, 1, b"\x00\x32").encode()], "a frame that cannot be decoded"),
    ],
)
def test_what_breaks_the_document_is_an_observation(lines: list[bytes], why: str) -> None:
    client, _, _ = link(*lines)
    assert client.next(1, 1.0) == Unreadable(why)


@pytest.mark.parametrize(
    "garbage", [b"HTTP/1.1 400", b"\x09\x00\x00", RawFrame(1, 0, b"", end=b"\x00").encode()]
)
def test_garbage_is_an_observation_for_every_channel(garbage: bytes) -> None:
    client, _, _ = link(garbage, End.FIN)
    assert isinstance(client.next(5, 1.0), Unreadable)
    assert client.next(5, 1.0) == Closed(End.FIN)


@pytest.mark.parametrize("end", list(End))
def test_fin_rst_and_silence_are_told_apart(end: End) -> None:
    assert link(end)[0].next(0, 1.0) == Closed(end)
    assert link()[0].next(0, 1.5) == Silence(1.5)


def test_a_frame_before_the_end_is_seen_first() -> None:
    client, _, _ = link(octets(0, Connection.CloseOk()), End.RST)
    assert client.next(0, 1.0) == Received(0, Connection.CloseOk())
    assert client.next(0, 1.0) == Closed(End.RST)


def test_a_connection_that_ends_within_a_frame_is_unreadable() -> None:
    client, _, _ = link(octets(0, Connection.CloseOk())[:-1], End.FIN)
    assert isinstance(client.next(0, 1.0), Unreadable)


def test_a_header_is_seen() -> None:
    seen = link(PROTOCOL_HEADER)[0].next(0, 1.0)
    assert isinstance(seen, HeaderReceived)
    assert signature(seen) == "protocol header 0-9-1"


def test_an_expected_close_is_answered() -> None:
    client, kept, script = link(octets(1, CLOSE))
    client.expect(1, *refused(NOT_FOUND))
    assert script.sent == [octets(1, Channel.CloseOk())]
    (decided,) = [event for event in kept.events if isinstance(event, Expected)]
    assert (decided.grade, decided.actual) == (Grade.PREFERRED, "channel.close 404 (not-found)")


def test_the_right_code_on_the_other_level_is_tolerated() -> None:
    client, kept, _ = link(octets(0, Connection.Close(NOT_FOUND, "", 50, 10)))
    client.expect(1, *refused(NOT_FOUND))
    (decided,) = [event for event in kept.events if isinstance(event, Expected)]
    assert decided.grade is Grade.TOLERATED
    assert "4.8.1" in decided.reading


def test_the_level_of_a_code_follows_its_class() -> None:
    assert refused(NOT_FOUND)[0].says == channel_closed(NOT_FOUND).says
    assert refused(CHANNEL_ERROR)[0].says == connection_closed(CHANNEL_ERROR).says


@pytest.mark.parametrize(("end", "lost"), [(End.FIN, False), (End.RST, True)])
def test_only_a_reset_may_have_eaten_a_frame(end: End, lost: bool) -> None:
    client, _, _ = link(end)
    with pytest.raises(Unmet) as unmet:
        client.expect(1, Queue.BindOk)
    assert unmet.value.lost is lost


class Near(Script):
    """A script on this machine."""

    local = True


@pytest.mark.parametrize(
    ("answers", "after", "lost"), [(False, 0.0, False), (True, 0.0, True), (True, 1.0, False)]
)
def test_over_loopback_a_reset_eats_only_what_waits_for_an_acknowledgement(
    answers: bool, after: float, lost: bool
) -> None:
    script = Near(*([octets(1, Queue.PurgeOk(0))] if answers else []), End.RST)
    client = Link(script, Context(Kept(), "test"), "c1", "0-9-1")
    client.send(1, Queue.Purge("q"))
    if answers:
        client.expect(1, Queue.PurgeOk)
    script.clock += after
    with pytest.raises(Unmet) as unmet:
        client.expect(1, Queue.BindOk)
    assert unmet.value.lost is lost


def test_silence_is_waited_for_as_long_as_the_outcome_deserves() -> None:
    for outcome, waited in ((closed_silently(), 7.0), (channel_closed(), 3.0)):
        client, _, script = link()
        with pytest.raises(Unmet, match="silence"):
            client.expect(0, outcome)
        assert script.clock == waited


@pytest.mark.parametrize(("alone", "given"), [(True, 3.0), (False, 10.0)])
def test_beside_others_controls_are_given_more_time_and_nothing_that_is_judged(
    alone: bool, given: float
) -> None:
    patience = Patience.calibrated(0.001, alone=alone)
    client, _, script = link(patience=patience)
    channel = AmqpChannel(AmqpConnection(client, client.context, Endpoint("script", 0)), 1)
    with pytest.raises(ControlFailed, match="silence"):
        channel.control("it", Queue.BindOk)
    assert script.clock == given
    client, _, script = link(patience=patience)
    with pytest.raises(Unmet, match="silence"):
        client.expect(0, channel_closed(), Queue.BindOk)
    assert script.clock == 3.0


def test_a_scenario_that_waits_too_long_is_stopped() -> None:
    client, _, _ = link(patience=Patience(answer=20.0, budget=30.0))
    client.next(0, 20.0)
    with pytest.raises(OverBudget):
        client.next(0, 20.0)


def test_a_peer_that_talks_about_something_else_holds_us_no_longer_than_it_talks() -> None:
    chatter = octets(7, Queue.BindOk())
    client, _, _ = link(*([chatter] * 10_000))
    assert isinstance(client.next(1, 1.0), Silence)


def test_a_peer_that_no_longer_reads_is_sent_nothing_more() -> None:
    client, _, script = link()
    script.reads = False
    for _ in range(3):
        client.send(1, Queue.Purge("q"))
    assert len(script.sent) == 1


def test_credentials_reach_no_event() -> None:
    client, kept, script = link(octets(0, Connection.StartOk({}, "PLAIN", b"\0user\0s3cret", "en_US")))
    client.send(0, Connection.StartOk({}, "PLAIN", b"\0user\0s3cret", "en_US"))
    client.next(0, 1.0)
    assert b"s3cret" in script.sent[0]
    units = [event for event in kept.events if isinstance(event, Octets)]
    assert len(units) == 2
    assert all(b"s3cret" not in event.octets and "s3cret" not in event.says for event in units)
    assert all(len(event.octets) == len(script.sent[0]) for event in units)


def test_passive_rules_look_when_the_connection_is_finished() -> None:
    client, kept, _ = link(*CONTENT)
    client.context.watching = Watching(
        [
            ("a rule", Fold(lambda each: each.said.full_name, came(Basic.Deliver), Gaps.BEARS)),
            ("a rule without occasion", Fold(lambda _: None, came(Basic.Deliver), Gaps.BEARS)),
        ]
    )
    client.next(1, 1.0)
    client.finish()
    client.finish()
    (seen,) = [event for event in kept.events if isinstance(event, Seen)]
    assert (seen.occasions, seen.violations) == ({"a rule": 1}, {"a rule": ("basic.deliver",)})
    assert [event.by for event in kept.events if isinstance(event, Ended)] == ["harness"]


def test_raw_frames_go_out_as_they_are() -> None:
    client, _, script = link()
    client.send_frames([RawFrame(1, 0, b"abc", size=99, end=b"!"), Frame(8, 0, b"")])
    assert script.sent == [b"\x01\x00\x00\x00\x00\x00\x63abc!" + b"\x08\x00\x00\x00\x00\x00\x00\xce"]


def test_the_deciding_frame_is_its_own_and_not_the_last_of_its_read() -> None:
    client, kept, _ = link(
        octets(1, Queue.PurgeOk(1)) + octets(2, Queue.BindOk()) + octets(2, Queue.BindOk())
    )
    client.expect(1, Queue.PurgeOk)
    (decided,) = [event for event in kept.events if isinstance(event, Expected)]
    assert decided.frame == 1


def test_a_finished_transcript_reads_its_methods_once_and_tells_who_said_them() -> None:
    client, _, _ = link(octets(1, Queue.BindOk()))
    client.send(1, Queue.Bind("q", "e"))
    client.send_frames([Frame(1, 1, b"no method")])
    client.expect(1, Queue.BindOk)
    finished = Transcript(client.transcript)

    def methods(way: Direction) -> list[object]:
        return [each.said for each in finished.sorted()[1] if each.direction is way and each.said]

    assert methods(Direction.SENT) == [Queue.Bind("q", "e")]
    assert methods(Direction.RECEIVED) == [Queue.BindOk()]
    assert [id(each) for each in methods(Direction.SENT)] == [id(each) for each in methods(Direction.SENT)]


def test_passive_rules_see_a_finished_transcript() -> None:
    seen: list[object] = []

    def look(transcript: object) -> bool:
        seen.append(transcript)
        return True

    fold = Fold(lambda _: None, came(Queue.BindOk), Gaps.BEARS, where=look)

    client, _, _ = link(octets(1, Queue.BindOk()))
    client.context.watching = Watching([("rule", fold), ("another", fold)])
    client.expect(1, Queue.BindOk)
    client.finish()
    assert len(seen) == 2
    assert seen[0] is seen[1]
    assert isinstance(seen[0], Transcript)
