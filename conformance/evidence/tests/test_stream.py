import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.evidence.folder import RunInfo, read_run, seal, write_run
from conformance.evidence.keeping import CONNECTION_CAP, FRAME_CAP, EventWriter, wall_clock
from conformance.evidence.kinds import CappedOctets, EvidenceError, RunEnded, TargetRestarted, TestStarted
from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, merge, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.render.tests.samples import exchange, judged, results_of, ticking, write
from harness.wire.journal import Direction, Noted, Octets, Opened
from spec.rules import Role


def noted(text: str) -> Noted:
    return Noted(0.0, "c1", text)


def texts(run_dir: Path) -> list[str]:
    return [line.event.text for line in read(run_dir) if isinstance(line.event, Noted)]


def test_lines_are_stamped_with_the_test_under_way(tmp_path: Path) -> None:
    with EventWriter(tmp_path, "gw0", ticking()) as writer:
        writer.write(noted("before"))
        with writer.test("t1", "r1"):
            with writer.test("t2", "r2"):
                writer.write(noted("inner"))
            writer.write(noted("outer"))
        with writer.test("t1", "r1"):
            writer.write(noted("again"))
        writer.write(noted("after"))
    lines = read(tmp_path)
    stamps = {line.event.text: line.test for line in lines if isinstance(line.event, Noted)}
    assert stamps == {"before": None, "inner": "t2", "outer": "t1", "again": "t1", "after": None}
    assert [line.event for line in lines if line.kind == "test-started"] == [
        TestStarted("t1", "r1"),
        TestStarted("t2", "r2"),
    ]
    assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
    assert {line.worker for line in lines} == {"gw0"}


def test_of_a_run_under_way_a_connection_is_read_from_the_file_of_its_worker(tmp_path: Path) -> None:
    for worker in ("gw0", "gw0-1"):
        with EventWriter(tmp_path, worker, ticking()) as writer:
            for connection in (f"{worker}.3.1", f"{worker}.3.2"):
                writer.write(Noted(0.0, connection, f"of {connection}"))
    with (tmp_path / "events-gw0.jsonl").open("ab") as file:
        file.write(b"not JSON\n")

    def on(connection: str) -> list[object]:
        return [line.event for line in read(tmp_path, on=connection)]

    found = [Noted(0.0, "gw0-1.3.1", "of gw0-1.3.1")]
    assert on("gw0-1.3.1") == found
    (tmp_path / "events-gw0.jsonl").unlink()
    merge(tmp_path)
    assert on("gw0-1.3.1") == found


def test_the_stamp_is_taken_off_when_a_test_raises(tmp_path: Path) -> None:
    with EventWriter(tmp_path, "main", ticking()) as writer:
        with pytest.raises(KeyError), writer.test("t", "r"):
            raise KeyError
        writer.write(noted("after"))
    assert read(tmp_path)[-1].test is None


def test_a_clock_that_goes_back_does_not_disorder_a_worker(tmp_path: Path) -> None:
    walls = iter([1.0, 0.5, 2.0])
    with EventWriter(tmp_path, "main", walls.__next__) as writer:
        for text in "abc":
            writer.write(noted(text))
    assert [line.wall for line in read(tmp_path)] == [1.0, 1.0, 2.0]


def test_wall_clock_counts_from_the_start_of_the_run() -> None:
    clock = wall_clock(0.0)
    assert clock() <= clock()
    assert wall_clock(1e6)() < clock()


def test_a_run_folder_holds_one_run(tmp_path: Path) -> None:
    write(tmp_path, "main", [])
    with pytest.raises(FileExistsError):
        EventWriter(tmp_path, "main", ticking())


def test_long_frames_are_cut_with_length_and_hash_of_the_whole(tmp_path: Path) -> None:
    octets = os.urandom(FRAME_CAP + 1)
    frame = Octets(0.0, "c1", Direction.SENT, octets, "long")
    whole = Octets(0.0, "c1", Direction.SENT, octets[:-1], "just fits")
    write(tmp_path, "main", [frame, whole])
    first, second = (line.event for line in read(tmp_path))
    expected = hashlib.sha256(octets).hexdigest()
    assert first == CappedOctets(
        0.0, "c1", Direction.SENT, octets[:-1], "long", length=FRAME_CAP + 1, sha256=expected
    )
    assert second == whole


def test_a_connection_keeps_no_more_than_its_share(tmp_path: Path) -> None:
    frame = Octets(0.0, "c1", Direction.RECEIVED, b"x" * 4000, "body")
    other = Octets(0.0, "c2", Direction.RECEIVED, b"y", "of another connection")
    opened = Opened(0.0, "c1", "e", "p")
    write(tmp_path, "main", [opened, *[frame] * 300, other, opened, frame])
    events = [line.event for line in read(tmp_path)]
    first = [event for event in events[:301] if isinstance(event, Octets)]
    assert sum(len(event.octets) for event in first) == CONNECTION_CAP
    assert first[-1] == CappedOctets(
        0.0,
        "c1",
        Direction.RECEIVED,
        b"",
        "body",
        length=4000,
        sha256=hashlib.sha256(b"x" * 4000).hexdigest(),
    )
    assert events[-3] == other
    assert events[-1] == frame, "opened anew, the connection has its share again"


def test_merge_orders_by_time_then_worker_then_number(tmp_path: Path) -> None:
    def worker(name: str, *said: tuple[float, str]) -> None:
        clock = iter([wall for wall, _ in said])
        with EventWriter(tmp_path, name, clock.__next__) as writer:
            for _, text in said:
                writer.write(noted(text))

    worker("main", (0.1, "a"), (0.9, "g"))
    worker("gw1", (0.2, "c"), (0.2, "d"), (0.3, "e"))
    worker("gw0", (0.2, "b"), (0.4, "f"))
    assert "".join(texts(tmp_path)) == "abcdefg", "unmerged"
    assert merge(tmp_path) == tmp_path / "events.jsonl"
    assert "".join(texts(tmp_path)) == "abcdefg"
    assert [path.name for path in tmp_path.iterdir()] == ["events.jsonl"]


def test_footer_closes_the_stream(tmp_path: Path) -> None:
    write(tmp_path, "main", [TargetRestarted(), noted("x"), noted("y")])
    *before, last = merge(tmp_path).read_bytes().splitlines(keepends=True)
    assert json.loads(last) == {
        "event": "footer",
        "events": 3,
        "sha256": hashlib.sha256(b"".join(before)).hexdigest(),
        "partial": False,
        "counts": {"noted": 2, "target-restarted": 1},
    }
    assert verify(tmp_path).state is State.OK


def test_merging_again_changes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    leftover = write(tmp_path, "main", [noted("x")])
    content = leftover.read_bytes()
    merged = merge(tmp_path).read_bytes()
    leftover.write_bytes(content)  # as if killed after the rename, before the removal
    assert merge(tmp_path).read_bytes() == merged
    assert not leftover.exists()


def test_an_interrupted_run_says_that_it_is_partial(tmp_path: Path) -> None:
    write(tmp_path, "main", [noted("x")])
    assert verify(tmp_path).state is State.PARTIAL
    merge(tmp_path, partial=True)
    assert verify(tmp_path).state is State.PARTIAL
    assert texts(tmp_path) == ["x"]


def test_an_empty_run_can_be_merged_but_no_folder_without_one(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="no events here"):
        merge(tmp_path)
    with pytest.raises(EvidenceError, match="no events here"):
        read(tmp_path)
    assert verify(tmp_path).state is State.PARTIAL
    write(tmp_path, "main", [])
    merge(tmp_path)
    assert verify(tmp_path).state is State.OK


KILLED = """
import itertools, sys
from pathlib import Path
from conformance.evidence.keeping import EventWriter
from harness.wire.journal import Noted
writer = EventWriter(Path(sys.argv[1]), "gw0", iter(float, 1).__next__)
for number in itertools.count():
    writer.write(Noted(0.0, "c1", str(number)))
    if number == 100:
        print("ready", flush=True)
"""


def test_a_killed_writer_loses_at_most_its_last_line(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    numbers = texts(tmp_path)
    assert len(numbers) > 100
    assert numbers == [str(number) for number in range(len(numbers))]
    assert verify(tmp_path).state is State.PARTIAL


def test_a_torn_last_line_is_left_out_and_marks_the_run(tmp_path: Path) -> None:
    path = write(tmp_path, "gw0", [noted("a"), noted("b")])
    write(tmp_path, "main", [noted("m")])
    path.write_bytes(path.read_bytes()[:-10])
    assert texts(tmp_path) == ["a", "m"]
    assert verify(tmp_path).state is State.PARTIAL
    merge(tmp_path)
    assert texts(tmp_path) == ["a", "m"]
    assert verify(tmp_path).state is State.PARTIAL


def test_a_torn_stream_is_read_up_to_where_it_is_whole(tmp_path: Path) -> None:
    write(tmp_path, "main", [noted("a"), noted("b")])
    stream = merge(tmp_path)
    whole = stream.read_bytes()
    footer = whole.rindex(b'{"event":"footer"')
    for end in range(footer - 5, len(whole)):
        stream.write_bytes(whole[:end])
        assert texts(tmp_path) == (["a", "b"] if end >= footer else ["a"])
        assert verify(tmp_path).state is State.PARTIAL


def test_every_changed_octet_is_found(tmp_path: Path) -> None:
    write(tmp_path, "main", [noted("a"), judged(Verdict.FAIL)])
    stream = merge(tmp_path)
    whole = stream.read_bytes()
    for place in range(len(whole)):
        changed = bytes([whole[place] ^ 0x01])
        stream.write_bytes(whole[:place] + changed + whole[place + 1 :])
        assert verify(tmp_path).state is not State.OK, whole[place - 20 : place + 20]


def test_changed_lines_are_called_so(tmp_path: Path) -> None:
    write(tmp_path, "main", [noted("a"), judged(Verdict.FAIL), noted("b")])
    stream = merge(tmp_path)
    whole = stream.read_bytes()
    first, second, third, footer = whole.splitlines(keepends=True)
    for tampered in [
        whole.replace(b'"verdict":"fail"', b'"verdict":"pass"'),
        first + third + footer,
        second + first + third + footer,
        first + b"nonsense\n" + third + footer,
        first + second + third + footer.replace(b'"events":3', b'"events":4'),
        first + second + third + footer.replace(b'"judged":1', b'"judged":2'),
        whole + footer,
    ]:
        stream.write_bytes(tampered)
        verification = verify(tmp_path)
        assert verification.state is State.TAMPERED, tampered
        assert verification.sentence.count("\n") == 0


def test_what_follows_the_footer_is_found(tmp_path: Path) -> None:
    write(tmp_path, "main", [noted("a")])
    stream = merge(tmp_path)
    stream.write_bytes(stream.read_bytes() + b"\n")
    assert verify(tmp_path).state is State.TAMPERED


def test_a_damaged_line_is_named_with_file_and_number(tmp_path: Path) -> None:
    path = write(tmp_path, "gw0", [noted("a"), noted("b")])
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    with pytest.raises(EvidenceError, match=r"events-gw0.jsonl:1: not JSON"):
        read(tmp_path)


INFO = RunInfo(
    run="r1",
    started="2026-01-02T03:04:05+00:00",
    suite="0.1.0",
    target="amqp://127.0.0.1",
    banner={"product": "P\u202e", "capabilities": {"x": True}},
    documents=({"title": "T", "revision": "R", "sha256": "00"},),
    arguments=("--level", "must"),
)


def test_run_file_comes_back_as_written(tmp_path: Path) -> None:
    write_run(tmp_path, INFO)
    assert read_run(tmp_path) == INFO


def test_a_run_that_names_no_role_judged_a_server(tmp_path: Path) -> None:
    write_run(tmp_path, INFO)
    told = json.loads((tmp_path / "run.json").read_text())
    assert told.pop("role") == "server"
    (tmp_path / "run.json").write_text(json.dumps(told))
    assert read_run(tmp_path).role is Role.SERVER


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"schema": 2, "run": "r", "invented": 1}'])
def test_a_run_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(EvidenceError, match=r"run.json: not the description of a run"):
        read_run(tmp_path)
    write(tmp_path, "main", [])
    merge(tmp_path)
    assert verify(tmp_path).state is State.TAMPERED


@pytest.mark.parametrize("schema", [None, 0, 1, "2"])
def test_a_run_of_another_schema_is_refused(tmp_path: Path, schema: object) -> None:
    write_run(tmp_path, INFO)
    data = json.loads((tmp_path / "run.json").read_text())
    del data["schema"]
    (tmp_path / "run.json").write_text(json.dumps(data if schema is None else data | {"schema": schema}))
    with pytest.raises(EvidenceError, match=r"run.json: .* schema.* this suite reads 2"):
        read_run(tmp_path)


def test_listed_files_are_checked(tmp_path: Path) -> None:
    write(tmp_path, "main", exchange())
    merge(tmp_path)
    report = tmp_path / "junit.xml"
    report.write_text("<testsuites/>")
    write_run(tmp_path, INFO)
    assert verify(tmp_path).state is State.OK
    seal(tmp_path)
    assert sorted(read_run(tmp_path).files) == ["events.jsonl", "junit.xml"]
    assert verify(tmp_path).state is State.OK
    report.write_text("<testsuites />")
    assert verify(tmp_path).state is State.TAMPERED
    assert "junit.xml" in verify(tmp_path).sentence
    report.unlink()
    assert verify(tmp_path).state is State.TAMPERED


def test_a_list_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"")
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    write(run_dir, "main", [])
    merge(run_dir)
    write_run(run_dir, INFO)
    seal(run_dir)
    text = (run_dir / "run.json").read_text()
    empty = hashlib.sha256(b"").hexdigest()
    (run_dir / "run.json").write_text(text.replace('"files": {', f'"files": {{"../outside": "{empty}", '))
    assert verify(run_dir).state is State.TAMPERED


def test_results_fold_the_tests_of_a_rule(tmp_path: Path) -> None:
    write(
        tmp_path,
        "gw1",
        [
            judged(Verdict.PASS, "r1", "r1[a]"),
            judged(Verdict.PASS, "r2"),
            judged(Verdict.NOT_RUN, "r1", "r1[b]", detail="no restart", signature="s"),
            RunEnded({"pass": 1}, 1),
        ],
    )
    first, second = rule_results(read(tmp_path))
    assert (first.rule, first.verdict, first.signature, first.worker) == ("r1", Verdict.NOT_RUN, "s", "gw1")
    assert [test.test for test in first.tests] == ["r1[a]", "r1[b]"]
    assert first.deciding.detail == "no restart"
    assert second.verdict is Verdict.PASS


def test_what_decides_a_rule_does_not_depend_on_the_order_of_its_tests() -> None:
    parts = [
        judged(Verdict.INFO, test="b", signature="one reading"),
        judged(Verdict.INFO, test="a", signature="another"),
        judged(Verdict.PASS, test="0"),
    ]
    found = [results_of(*order)[0].signature for order in itertools.permutations(parts)]
    assert found == ["another"] * 6
