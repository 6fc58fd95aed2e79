"""Captures judged by the watches: the same verdicts as live, and no accusation for what was not captured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.engine.captured import judge_capture, transcript_of
from conformance.evidence.capture import write_capture
from conformance.evidence.captured import Connection, read_capture
from conformance.evidence.keeping import Memory
from conformance.evidence.kinds import Judged
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.proof.detection import judge_rule
from conformance.tests.commands import Command, command, environment
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Seen
from harness.wire.transcript import Gap, Piece
from scenarios.registry import checks, watching
from spec.catalogue import catalogue
from spec.rules import Role

WATCHED = sorted(rule for rule in checks().watches if checks().passive(rule, Role.SERVER))
START = b"\x00\x0a\x00\x0a\x00\x09"
"""How Connection.Start of 0-9-1 begins."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all passive rules of both protocols, with what gives them an occasion."""
    folder = tmp_path_factory.mktemp("captured") / "run"
    command("run", *WATCHED, "--capture", "all", "--output", folder, env=environment()).check_returncode()
    return folder


def test_a_capture_of_a_run_gives_the_verdicts_of_the_run(run: Path) -> None:
    live = {
        line.event.test: (line.event.verdict, line.event.signature)
        for line in read(run, "judged")
        if isinstance(line.event, Judged) and line.event.rule in WATCHED
    }
    again = {each.test: (each.verdict, each.signature) for each in judge_capture(run / "capture.pcapng")}
    # Of a large message we sent the capture has the beginning: what it lacks could have been an occasion.
    none = {name for name, each in live.items() if each == (Verdict.INAPPLICABLE, "no occasion")}
    in_doubt = {name for name in none if again[name][0] is Verdict.INCONCLUSIVE}
    assert {name: each for name, each in again.items() if name not in in_doubt}.items() <= live.items()
    assert len(in_doubt) < len(none) / 2
    assert {each.rule for each in judge_capture(run / "capture.pcapng")} == set(WATCHED)
    assert Counter(verdict for verdict, _ in again.values())[Verdict.PASS] > 50


def test_who_breaks_a_rule_live_is_caught_by_the_capture(tmp_path: Path) -> None:
    caught, missed = 0, []
    for rule in WATCHED:
        for deviation in checks().deviations[rule]:
            evidence = Memory()
            live = judge_rule(catalogue()[rule], EmbeddedTarget(deviation.change), evidence)
            if not any(isinstance(each, Seen) and rule in each.violations for each in evidence.exchange):
                continue  # a scenario catches it, or the client that reads it all the same
            write_capture(evidence.lines, tmp_path / "broken.pcapng")
            again = [each for each in judge_capture(tmp_path / "broken.pcapng") if each.rule == rule]
            caught += 1
            if (live.verdict, "violated") not in [(each.verdict, each.signature) for each in again]:
                missed.append((rule, deviation.says))
    assert missed == []
    assert caught > 150


def test_a_command_judges_a_capture(run: Path, tmp_path: Path, amqp_conformance: Command) -> None:
    clean = amqp_conformance("judge", run / "capture.pcapng")
    assert clean.returncode == Exit.MET, clean.stderr
    assert "no rules are broken at the level must" in clean.stdout
    rule = "0-9-1/prose/4.2.3.frame-end-is-ce"
    evidence = Memory()
    judge_rule(catalogue()[rule], EmbeddedTarget(checks().deviations[rule][0].change), evidence)
    write_capture(evidence.lines, tmp_path / "broken.pcapng")
    told = amqp_conformance("judge", tmp_path / "broken.pcapng", "--level", "may")
    assert told.returncode == Exit.NOT_MET
    assert f"  {rule}: 1 of" in told.stdout


def test_a_capture_without_a_known_protocol_is_one_sentence(
    tmp_path: Path, amqp_conformance: Command
) -> None:
    write_capture([], tmp_path / "empty.pcapng")
    done = amqp_conformance("judge", tmp_path / "empty.pcapng")
    assert done.returncode == Exit.NOTHING
    assert done.stderr.count("\n") == 1
    assert "no connection in it speaks a protocol that is known" in done.stderr


def broken(connection: Connection, pieces: list[Piece]) -> Counter[tuple[str, str]]:
    """Give what the watches find wrong with a connection of which these pieces were captured."""
    seen = transcript_of(Connection(connection.name, connection.protocol, None, pieces))
    told = watching(connection.protocol).look(seen)
    return Counter((rule, what) for rule, tally in told for what in tally.broken)


def with_gaps(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Give the pieces with a gap in the place of each one, or of its first or second half."""
    for place, (at, way, octets) in enumerate(pieces):
        if isinstance(octets, Gap):
            continue
        half = len(octets) // 2
        for instead in (
            (Gap(len(octets)),),
            (Gap(),),
            (octets[:half], Gap(len(octets) - half)),
            (Gap(half), octets[half:]),
        ):
            kept: list[Piece] = [(at, way, each) for each in instead if each]
            yield pieces[:place] + kept + pieces[place + 1 :]


def test_no_watch_accuses_because_of_a_gap(run: Path) -> None:
    tried = 0
    for connection in read_capture(run / "capture.pcapng"):
        before = broken(connection, connection.pieces)
        for pieces in with_gaps(connection.pieces):
            tried += 1
            assert not broken(connection, pieces) - before, connection.test
    assert tried > 1000


def test_behind_a_gap_what_a_server_does_not_do_is_not_known(tmp_path: Path, run: Path) -> None:
    (never,) = [each for each in WATCHED if each.endswith("constant.resource-error.level")]
    told = {each.rule: each.verdict for each in judge_capture(run / "capture.pcapng")}
    assert told[never] is Verdict.INAPPLICABLE
    octets = (run / "capture.pcapng").read_bytes()
    path = tmp_path / "torn.pcapng"
    path.write_bytes(without_the_packet_at(octets, octets.index(START)))
    told = {each.rule: each.verdict for each in judge_capture(path)}
    assert told[never] is Verdict.INCONCLUSIVE
    assert Verdict.FAIL not in told.values()


def without_the_packet_at(octets: bytes, place: int) -> bytes:
    """Give a capture without the packet that stands at a place."""
    at = 0
    while (behind := at + int.from_bytes(octets[at + 4 : at + 8], "little")) <= place:
        at = behind
    return octets[:at] + octets[behind:]
