"""The watches over the hand-shake and over method frames, on dialogues written down by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from harness.amqp0_9_1.client.transcript import Transcript
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEARTBEAT, METHOD, PROTOCOL_HEADER, Frame, Unit, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Queue
from harness.play.watching import Watching
from harness.wire.journal import Direction
from harness.wire.transcript import Passage
from harness.wire.units import Header
from scenarios.amqp0_9_1.prose.chapters_1_2.s2_2_4_connection import server_takes_its_steps_in_order
from scenarios.amqp0_9_1.prose.chapters_1_2.s2_3_3_negotiation import tune_comes_once
from scenarios.amqp0_9_1.prose.chapters_1_2.s2_3_5_frames import method_frame_holds_one_method
from scenarios.registry import checks

HELLO = Header(PROTOCOL_HEADER)
START, START_OK = Connection.Start(), Connection.StartOk()
SECURE, SECURE_OK = Connection.Secure(b"?"), Connection.SecureOk(b"!")
TUNE, TUNE_OK = Connection.Tune(0, 4096, 0), Connection.TuneOk(0, 4096, 0)
OPEN, OPEN_OK = Connection.Open("/"), Connection.OpenOk()
CLOSE = Connection.Close(403, "no")
BEAT = Frame(HEARTBEAT, 0, b"")
WHOLE = (HELLO, START, START_OK, TUNE, TUNE_OK, OPEN, OPEN_OK)
OURS = (
    Header, Connection.StartOk, Connection.SecureOk, Connection.TuneOk, Connection.Open,
    Channel.Open, Queue.Delete,
)  # fmt: skip

Said = Method | Header | Frame


def dialogue(said: Iterable[Said]) -> Transcript:
    """Give what was said, in its order; who said it follows from what it is."""
    return Transcript(
        Passage(
            float(at),
            Direction.SENT if isinstance(each, OURS) else Direction.RECEIVED,
            each if isinstance(each, Header | Frame) else method_frame(0, each),
        )
        for at, each in enumerate(said)
    )


def looked(step: object, transcript: Transcript) -> list[bool]:
    """Say whether the rule held on each occasion that a watch saw; the held ones come first."""
    (fold,) = {each.fold for found in checks().watches.values() for each in found if each.fold.step is step}
    tallies = [tally for _, tally in Watching([("the rule", fold)]).look(transcript)]
    return [held for each in tallies for held in [True] * each.held + [False] * len(each.broken)]


def held(step: object, said: Iterable[Said]) -> list[bool]:
    return looked(step, dialogue(said))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (WHOLE, [True]),
        ((HELLO, START, START_OK, SECURE, SECURE_OK, SECURE, SECURE_OK, *WHOLE[3:]), [True]),
        ((*WHOLE[:6], Channel.Open(), OPEN_OK, Channel.OpenOk()), [True]),
        ((HELLO, START, START_OK, CLOSE), [True]),
        ((HELLO, START, START_OK, BEAT, *WHOLE[3:]), [True]),
        ((HELLO,), []),
        ((HELLO, START, START, *WHOLE[2:]), [False]),
        ((HELLO, TUNE, TUNE_OK, OPEN, OPEN_OK), [False]),
        ((HELLO, START, START_OK, OPEN_OK), [False]),
        ((HELLO, START, START_OK, TUNE, OPEN_OK), [False]),
        ((HELLO, START, START_OK, TUNE, SECURE), [False]),
        ((HELLO, START, START_OK, SECURE, TUNE), [False]),
        ((HELLO, START, START_OK, TUNE, TUNE, TUNE_OK, OPEN, OPEN_OK), [False]),
        ((*WHOLE[:6], Channel.OpenOk(), OPEN_OK), [False]),
        ((HELLO, START, START_OK, Basic.QosOk(), *WHOLE[3:]), [False]),
    ],
)
def test_steps_of_the_server_are_looked_at_one_by_one(said: Iterable[Said], expected: list[bool]) -> None:
    assert held(server_takes_its_steps_in_order, said) == expected


def test_what_comes_of_a_wrong_step_of_ours_is_not_looked_at() -> None:
    assert held(server_takes_its_steps_in_order, (HELLO, START, OPEN, OPEN_OK)) == [True]
    assert held(server_takes_its_steps_in_order, (HELLO, START, Queue.Delete("q"), OPEN_OK)) == [True]
    assert held(server_takes_its_steps_in_order, (OPEN, OPEN_OK)) == []


def test_what_came_before_a_wrong_step_of_ours_is_looked_at() -> None:
    assert held(server_takes_its_steps_in_order, (HELLO, START, START, OPEN, OPEN_OK)) == [False]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (WHOLE, [True]),
        ((HELLO, START, START_OK, SECURE, SECURE_OK, *WHOLE[3:]), [True]),
        ((HELLO, START, START_OK, TUNE), [True]),
        ((HELLO, START, START_OK, CLOSE), []),
        ((HELLO, START, START_OK, SECURE), []),
        ((HELLO, START, OPEN, OPEN_OK), []),
        ((HELLO, START, START_OK, OPEN_OK), [False]),
        ((HELLO, START, START_OK, Channel.OpenOk()), [False]),
        ((HELLO, START, START_OK, Channel.OpenOk(), *WHOLE[3:]), [False]),
        ((*WHOLE, TUNE), [False]),
        ((HELLO, START, START_OK, Connection.Tune(0, 4095, 0)), [True]),
        ((HELLO, START, START_OK, Connection.Tune(0, 0, 0)), [True]),
    ],
)
def test_limits_are_told_once_and_first(said: Iterable[Said], expected: list[bool]) -> None:
    assert held(tune_comes_once, said) == expected


def frames(*sent_and_come: tuple[bool, int, bytes]) -> list[bool]:
    """Give what is made of method frames, ours (True) and the server's, each by channel and payload."""
    passages = [Passage[Unit](0.0, Direction.SENT, HELLO)]
    for ours, channel, payload in sent_and_come:
        direction = Direction.SENT if ours else Direction.RECEIVED
        passages.append(Passage(0.0, direction, Frame(METHOD, channel, payload)))
    return looked(method_frame_holds_one_method, Transcript(passages))


ASKED, ANSWER, OWN = b"\x00\x46\x00\x0a\x00", b"\x00\x46\x00\x0b", b"\xf0\x00\x00\x01"
QOS_OK = Basic.QosOk().encode()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([(False, 1, QOS_OK)], [True]),
        ([(False, 1, QOS_OK + b"\x00")], [False]),
        ([(False, 1, QOS_OK[:3])], [False]),
        ([(False, 1, b"")], [False]),
        ([(False, 1, b"\x00\x3c\x04\x00")], [False]),
        ([(True, 1, b"\x00\x3c\x04\x00"), (False, 1, b"\x00\x3c\x04\x01")], [False]),
        ([(False, 1, ANSWER)], [False]),
        ([(True, 1, ASKED), (False, 1, ANSWER)], []),
        ([(False, 1, ANSWER), (True, 1, ASKED)], [False]),
        ([(True, 1, ASKED), (False, 2, ANSWER)], [False]),
        ([(True, 1, b""), (False, 1, b"")], [False]),
        ([(False, 1, OWN)], []),
    ],
)
def test_a_method_of_an_extension_counts_where_nobody_asked_for_it(
    said: list[tuple[bool, int, bytes]], expected: list[bool]
) -> None:
    assert frames(*said) == expected
