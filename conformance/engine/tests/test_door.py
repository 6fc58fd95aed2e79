"""Servers that are broken at the door: the rule they break is red, what does not depend on it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from conformance.engine import controller
from conformance.engine.closing import Closed
from conformance.engine.options import Options
from conformance.engine.scope import Scope
from conformance.evidence.kinds import RunEnded
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.render.terminal import report
from harness.amqp0_9_1.broken.deviations import (
    Interposer,
    rejects,
    repeats,
    replaces,
    rewrites,
    spoils,
    withholds,
)
from harness.amqp0_9_1.broken.frame_faults import (
    OPEN_OK,
    START,
    TUNE,
    before_it,
    next_channel,
    on_channel,
    sent_on,
    with_more,
    with_properties,
    without_its_last,
)
from harness.amqp0_9_1.wire.field_tables import shortstr
from harness.amqp0_9_1.wire.frames import METHOD, PROTOCOL_HEADER, Frame, RawFrame
from harness.amqp0_9_1.wire.vocabulary import NOT_ALLOWED, NOT_IMPLEMENTED, Channel, Connection, Queue
from harness.dialect import dialect
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Breached
from harness.wire.transport import Unreachable
from spec.applicability import protocol
from spec.catalogue import catalogue

DOCUMENT = "0-9-1"
DOCUMENTS = tuple(each.prefix for each in catalogue().documents if protocol(each.prefix) == DOCUMENT)
PROSE, GRAMMAR = f"{DOCUMENT}/prose/", f"{DOCUMENT}/grammar/"
CHANNELS = f"{PROSE}2.3.1.frames-on-their-channel"
CHANNEL_OPEN_OK, DECLARE_OK, CLOSE = (
    sent_on(each, bool) for each in (Channel.OpenOk, Queue.DeclareOk, Channel.Close)
)
UNASKED = Frame(METHOD, 1, Channel.OpenOk().encode()).encode()
UNKNOWN = Frame(METHOD, 0, b"\x00\x0a\x00\x63").encode()
TYPE_Z = b"\x00\x00\x00\x04\x01aZ\x01"


def on_channels(frame: Frame) -> bool:
    """Say whether a frame is not of the connection."""
    return frame.channel > 0


@dataclass(frozen=True)
class Met:
    """What a change breaks, and whether nothing behind it can be reached."""

    change: Interposer
    rule: str
    blocks: bool = False


DOORS: Mapping[str, Met] = {
    "starts on channel 1": Met(spoils(START, on_channel(1)), f"{PROSE}4.2.3.connection-frames-on-zero"),
    "tunes on channel 7": Met(spoils(TUNE, on_channel(7)), f"{PROSE}4.2.3.connection-frames-on-zero"),
    "opens on channel 1": Met(spoils(OPEN_OK, on_channel(1)), f"{PROSE}4.2.3.connection-frames-on-zero"),
    "starts twice": Met(repeats(Connection.Start), f"{PROSE}2.2.4.handshake-in-order"),
    "tunes twice": Met(repeats(Connection.Tune), f"{PROSE}2.2.4.handshake-in-order"),
    "opens twice": Met(repeats(Connection.OpenOk), f"{PROSE}2.2.4.handshake-in-order"),
    "another version": Met(
        rewrites(Connection.Start, version_minor=10), f"{PROSE}1.4.2.version-written-out"
    ),
    "no mechanism": Met(rewrites(Connection.Start, mechanisms=b""), f"{PROSE}2.2.4.mechanisms-listed"),
    "frames below the minimum": Met(
        rewrites(Connection.Tune, frame_max=1024), f"{DOCUMENT}/connection.tune.frame-max.minimum"
    ),
    "a frame of type 7": Met(
        spoils(START, before_it(RawFrame(7, 0, b"hello").encode())), f"{PROSE}4.2.3.frame-layout"
    ),
    "no locales": Met(
        spoils(START, without_its_last(9)), f"{PROSE}2.3.5.1.one-command-per-frame"
    ),
    "more than Start": Met(spoils(START, with_more(b"\x00")), f"{PROSE}2.3.5.1.one-command-per-frame"),
    "no heartbeat": Met(spoils(TUNE, without_its_last(2)), f"{PROSE}2.3.5.1.one-command-per-frame"),
    "text for properties": Met(
        spoils(START, with_properties(shortstr("a broker"))), f"{PROSE}2.3.5.1.one-command-per-frame"
    ),
    "a method of its own": Met(spoils(TUNE, before_it(UNKNOWN)), f"{PROSE}2.3.5.1.one-command-per-frame"),
    "a type of its own": Met(
        spoils(START, with_properties(TYPE_Z)), f"{PROSE}4.2.1.table-types-understood"
    ),
    "Start in a frame of type 7": Met(
        spoils(START, lambda it: RawFrame(7, 0, it.payload).encode()), f"{PROSE}4.2.3.frame-layout", True
    ),
    "a wrong frame-end": Met(
        spoils(START, lambda it: it.encode()[:-1] + b"\x00"), f"{PROSE}4.2.3.frame-end-is-ce", True
    ),
    "Tune for Start": Met(
        replaces(Connection.Start, Connection.Tune(0, 4096, 0)), f"{PROSE}2.2.4.handshake-in-order", True
    ),
    "our own header": Met(
        replaces(Connection.Start, PROTOCOL_HEADER), f"{PROSE}2.2.4.handshake-in-order", True
    ),
    "no Tune": Met(withholds(Connection.Tune), f"{GRAMMAR}connection.start-ok.implemented", True),
    "no Open-Ok": Met(withholds(Connection.OpenOk), f"{GRAMMAR}connection.open.answers", True),
    "Open not implemented": Met(
        rejects(Connection.Open, NOT_IMPLEMENTED), f"{GRAMMAR}connection.open.answers", True
    ),
    "opens the next channel": Met(spoils(CHANNEL_OPEN_OK, next_channel), CHANNELS),
    "opens channels on channel 0": Met(spoils(CHANNEL_OPEN_OK, on_channel(0)), CHANNELS),
    "opens all channels as the first": Met(spoils(CHANNEL_OPEN_OK, on_channel(1)), CHANNELS),
    "opens channel 1 unasked": Met(spoils(TUNE, before_it(UNASKED)), CHANNELS),
    "says all on the next channel": Met(spoils(on_channels, next_channel), CHANNELS),
    "no channels": Met(withholds(Channel.OpenOk), f"{GRAMMAR}channel.open.answers", True),
}  # fmt: skip
"""Servers of 0-9-1 that are broken at the door, and the first rule each of them breaks."""


@pytest.mark.parametrize("name", DOORS)
def test_the_probe_says_which_rule_is_broken_and_where_it_ends(name: str) -> None:
    met = DOORS[name]
    found = dialect(DOCUMENT).speaker.probe(EmbeddedTarget(met.change))
    assert [each.rule for each in found.breaches][:1] in ([], [met.rule])
    assert (found.barrier is not None) is met.blocks
    assert found.breaches or found.barrier
    assert found.barrier is None or found.barrier.rule == met.rule


@pytest.mark.parametrize(
    "change",
    [
        withholds(Connection.Start),
        replaces(Connection.Start, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        replaces(Connection.Start, b"AMQP\x00\x01\x00\x00"),
        rejects(Connection.StartOk, NOT_IMPLEMENTED),
        rejects(Connection.Open, NOT_ALLOWED),
        rewrites(Connection.Start, mechanisms=b"EXTERNAL"),
    ],
    ids=[
        "silence",
        "HTTP",
        "another version's header",
        "not the password",
        "not the host",
        "not our mechanism",
    ],
)
def test_who_does_not_speak_or_does_not_let_us_in_is_not_judged(change: Interposer) -> None:
    with pytest.raises(Unreachable):
        dialect(DOCUMENT).speaker.probe(EmbeddedTarget(change))


def test_an_honest_peer_is_not_hampered() -> None:
    found = dialect(DOCUMENT).speaker.probe(EmbeddedTarget())
    assert (found.breaches, found.barrier) == ((), None)


def judged_whole(
    change: object, folder: Path, monkeypatch: pytest.MonkeyPatch, rules: tuple[str, ...] = DOCUMENTS
) -> Closed:
    """Judge all rules of a protocol, 0-9-1 unless said otherwise, on a faulty peer in memory."""
    monkeypatch.setattr(controller, "target", lambda *_: EmbeddedTarget(change))
    return controller.judge_here(Options(selectors=rules, output=str(folder / "run")))


WHOLE: Mapping[str, int] = {"opens on channel 1": 500, "no Open-Ok": 40, "a wrong frame-end": 1}
"""Doors before which all rules are judged, and how many at least come to a verdict there."""


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_run_is_red_where_it_is_broken_and_judges_the_rest(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = DOORS[name]
    run = judged_whole(met.change, tmp_path, monkeypatch)
    assert run.ending.lost is None
    assert run.gate.exit_status is Exit.NOT_MET
    assert not run.gate.certified
    verdicts = {each.rule: each.verdict for each in run.report.results}
    assert {rule for rule, verdict in verdicts.items() if verdict is Verdict.FAIL} == {met.rule}
    assert Verdict.ERROR not in verdicts.values()
    judged = [each for each in verdicts.values() if each not in (Verdict.NOT_RUN, Verdict.UNTESTABLE)]
    assert len(judged) >= WHOLE[name]
    blocked = [each.signature for each in run.report.results if each.verdict is Verdict.NOT_RUN]
    assert set(blocked) == ({f"blocked by {met.rule}"} if met.blocks else set())
    says = f"{len(blocked)} rules are blocked by {met.rule}" if met.blocks else "no rule is blocked by that"
    assert run.gate.sentence.endswith(says)
    assert [says in told for told in told_by(run)] == [True] * 3


BEHIND: Mapping[str, Interposer] = {
    "opens the next channel": DOORS["opens the next channel"].change,
    "answers Declare on channel 0": spoils(DECLARE_OK, on_channel(0)),
    "answers Declare on the first channel": spoils(DECLARE_OK, on_channel(1)),
    "closes the next channel": spoils(CLOSE, next_channel),
}
"""Servers that say on another channel what is due on one."""


@pytest.mark.parametrize("name", BEHIND)
def test_what_comes_on_another_channel_breaks_that_rule_and_no_other(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judged_whole(BEHIND[name], tmp_path, monkeypatch)
    assert run.gate.exit_status is Exit.NOT_MET
    verdicts = {each.rule: each.verdict for each in run.report.results}
    assert {rule for rule, verdict in verdicts.items() if verdict is Verdict.FAIL} == {CHANNELS}
    warned = {rule for rule, verdict in verdicts.items() if verdict is Verdict.WARN}
    assert warned == ({f"{PROSE}4.2.3.channels-not-zero"} if "channel 0" in name else set())
    assert not {Verdict.ERROR, Verdict.INCONCLUSIVE} & set(verdicts.values())
    blocked = [each.signature for each in run.report.results if each.verdict is Verdict.NOT_RUN]
    assert set(blocked) <= {f"blocked by {CHANNELS}"}
    assert len(blocked) < 10


def told_by(run: Closed) -> list[str]:
    """Give what the stream, the terminal and a summary say of a run."""
    ended = next(each.event for each in run.report.lines if isinstance(each.event, RunEnded))
    console = Console(width=1000, record=True, file=StringIO())
    report(run.report.results, run.plan.selected, run.report.lines, run.gate, console)
    return [ended.sentence, console.export_text(), (run.plan.folder / "summary.github.md").read_text()]


def test_a_breach_turns_a_rule_red_whose_own_check_has_not_met_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = DOORS["a type of its own"].rule
    monkeypatch.setattr(controller, "target", lambda *_: EmbeddedTarget(DOORS["a type of its own"].change))
    judging = controller.Controller.begin(Options(selectors=(rule,), output=str(tmp_path / "run")))
    (case,) = judging.cases()
    assert judging.verdict(case).verdict is Verdict.PASS
    run = judging.finish()
    assert run.gate.exit_status is Exit.NOT_MET
    (found,) = run.report.results
    assert found.verdict is Verdict.FAIL
    assert "server-properties: no table type has the tag 'Z'" in found.deciding.detail
    kept = [each.event for each in read(run.plan.folder, "breached")]
    assert {each.connection == "" for each in kept if isinstance(each, Breached)} == {True, False}


def test_a_worker_is_told_of_the_barrier() -> None:
    found = dialect(DOCUMENT).speaker.probe(EmbeddedTarget(DOORS["no Tune"].change))
    assert found.barrier is not None
    known = Scope({DOCUMENT: found}, barriers={DOCUMENT: found.barrier})
    told: dict[str, Any] = known.plain()
    assert Scope.of(told).barriers == known.barriers
