"""`baseline update`: what it adds, what it removes, and that it touches nothing else."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from conformance.evidence.kinds import AnyEvent, EvidenceError, Judged, RunStarted
from conformance.evidence.stream import merge
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline_file import BaselineError, load
from conformance.gate.baseline_update import NO_FRAME, TO_CHECK, Update, update, update_baseline
from conformance.render.tests.samples import exchange, judged, rule, write
from conformance.tests.commands import Command
from harness.dialect import dialect
from harness.peers.serve import TcpPeer
from scenarios.registry import checks
from spec.rules import Level

NAMES = ("a", "b", "c", "d")
RULES = [*(rule(f"x-1/{name}") for name in NAMES), rule("x-1/may", level=Level.MAY)]
FAIL_A = judged(Verdict.FAIL, "x-1/a", signature="old")
ALL_PASS = [judged(Verdict.PASS, each.id) for each in RULES]


def entry(
    name: str, signature: str = "old", product: str = "RabbitMQ", versions: str = ">=3.10,<3.11"
) -> str:
    return f"""[[accepted]]
rule = "x-1/{name}" # the tail of {name}
verdict = 'fail'
signature = "{signature}"
sentence = "The server MUST refuse."
reading = "as it stands"
frame = "queue.declare-ok channel=1"
reason = "Known of {name} {signature} {product} {versions}."
product = "{product}"
versions = "{versions}"
"""


FILE = f"""# What is accepted of RabbitMQ.

# right above a
{entry("a")}
# a section of its own

# right above b
{entry("b")}
# right above c
{entry("c")}"""
FLAKY = """
# right above the flaky one
[[flaky]]
rule = "x-1/d"
verdicts = ["pass", "fail"]
sentence = "The server MUST refuse."
reason = "Depends on the order of two threads."
product = "RabbitMQ"
versions = ">=3.10,<3.11"
"""


def a_run(
    folder: Path, *events: AnyEvent, version: str = "3.10.8", level: Level = Level.MUST, partial: bool = False
) -> Path:
    folder.mkdir()
    selected = tuple(each.id for each in RULES)
    started = RunStarted(
        run="r", suite="1", target="t", product="RabbitMQ", version=version, selected=selected, level=level
    )
    write(folder, "main", [started, *events])
    merge(folder, partial)
    return folder


def with_(*changed: Judged) -> list[Judged]:
    return [each for each in ALL_PASS if each.rule not in {c.rule for c in changed}] + list(changed)


def updated(tmp_path: Path, before: str | None, *tests: AnyEvent, **run: object) -> Update:
    path = tmp_path / "baseline.toml"
    if before is not None:
        path.write_text(before)
    change = update(a_run(tmp_path / "run", *tests, **run), path, RULES)  # type: ignore[arg-type]
    change.write()
    return change


def rules_of(text: str) -> list[str]:
    return [each["rule"] for each in tomllib.loads(text).get("accepted", [])]


def test_what_is_new_is_added_for_a_person_to_argue(tmp_path: Path) -> None:
    fails = judged(Verdict.FAIL, "x-1/d", signature="x for 405", reading="")
    change = updated(tmp_path, FILE, *with_(FAIL_A, fails))
    (added,) = [each for each in tomllib.loads(change.after)["accepted"] if each["rule"] == "x-1/d"]
    assert added == {
        "rule": "x-1/d",
        "verdict": "fail",
        "signature": "x for 405",
        "sentence": "The server MUST refuse.",
        "reading": "as the sentence stands",
        "frame": NO_FRAME,
        "reason": "",
        "product": "RabbitMQ",
        "versions": ">=3.10,<3.11",
    }
    assert f'sentence = "The server MUST refuse." # {TO_CHECK}\n' in change.after


def test_the_gate_refuses_the_file_until_it_is_filled_in(tmp_path: Path) -> None:
    change = updated(tmp_path, None, *with_(judged(Verdict.FAIL, "x-1/d", signature="x for 405")))
    line = change.after.splitlines().index('reason = ""') + 1
    assert change.blank() == [f"{change.path}:{line}: reason of x-1/d"]
    with pytest.raises(BaselineError, match=r"entry 1 \(x-1/d\): reason is empty"):
        load(change.path)
    change.path.write_text(change.after.replace('reason = ""', 'reason = "Known."'))
    assert [each.rule for each in load(change.path).accepted] == ["x-1/d"]


def test_an_entry_shows_the_deciding_frame_and_the_reading(tmp_path: Path) -> None:
    events = exchange("queue.declare-ok channel=1 queue='\\x1b'")
    told = [each for each in events if not isinstance(each, Judged)]
    test = judged(Verdict.FAIL, "x-1/a", signature="s", connection="c1", frame=2, reading="the strict one")
    change = updated(tmp_path, None, *told, test)
    (added,) = tomllib.loads(change.after)["accepted"]
    assert added["frame"].startswith("queue.declare-ok channel=1")
    assert added["reading"] == "the strict one"


def test_updated_twice_the_second_time_changes_nothing(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", *with_(FAIL_A, judged(Verdict.FAIL, "x-1/d", signature='q"uote\\')))
    path = tmp_path / "new.toml"
    first = update(run, path, RULES)
    first.write()
    assert rules_of(first.after) == ["x-1/a", "x-1/d"]
    again = update(run, path, RULES)
    assert (again.diff, again.added, again.removed) == ("", (), ())


def test_two_tests_with_one_finding_make_one_entry_and_two_findings_two(tmp_path: Path) -> None:
    tests = [
        judged(Verdict.FAIL, "x-1/a", test=f"x-1/a[{number}]", signature=signature)
        for number, signature in enumerate(["one", "one", "two"])
    ]
    change = updated(tmp_path, None, *tests)
    assert change.added == ("x-1/a: fail: one", "x-1/a: fail: two")
    assert change.after.count("\n\n[[accepted]]\n") == 1
    assert "\n\n\n" not in change.after


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (judged(Verdict.ERROR, "x-1/a", signature="it broke"), "x-1/a: error: it broke"),
        (
            judged(Verdict.NOT_RUN, "x-1/a", detail="the run ended before"),
            "x-1/a: not-run: the run ended before",
        ),
    ],
)
def test_what_cannot_be_accepted_is_said_and_not_added(tmp_path: Path, test: Judged, why: str) -> None:
    change = updated(tmp_path, "", *with_(test))
    assert (change.added, change.refused) == ((), (why,))


def test_what_the_target_lacks_can_be_accepted(tmp_path: Path) -> None:
    lacks = "the target has no facility restart"
    change = updated(tmp_path, "", *with_(judged(Verdict.NOT_RUN, "x-1/a", signature=lacks, detail=lacks)))
    assert change.added == (f"x-1/a: not-run: {lacks}",)


def test_below_the_level_of_the_run_nothing_is_added(tmp_path: Path) -> None:
    test = judged(Verdict.INCONCLUSIVE, "x-1/may", signature="s", level=Level.MAY)
    assert updated(tmp_path, "", *with_(test)).added == ()


def test_at_the_level_of_the_run_it_is(tmp_path: Path) -> None:
    test = judged(Verdict.INCONCLUSIVE, "x-1/may", signature="s", level=Level.MAY)
    assert updated(tmp_path, "", *with_(test), level=Level.MAY).added == ("x-1/may: inconclusive: s",)


# -- removing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "gone"),
    [
        (judged(Verdict.PASS, "x-1/a"), True),
        (judged(Verdict.WARN, "x-1/a", signature="old"), True),
        (judged(Verdict.INAPPLICABLE, "x-1/a"), True),
        (judged(Verdict.FAIL, "x-1/a", signature="another"), True),
        (judged(Verdict.FAIL, "x-1/a", signature="old"), False),
        (judged(Verdict.NOT_RUN, "x-1/a", signature="old"), False),
        (judged(Verdict.ERROR, "x-1/a", signature="old"), False),
        (judged(Verdict.INCONCLUSIVE, "x-1/a", signature="old"), False),
    ],
)
def test_only_what_the_run_reached_is_removed(tmp_path: Path, now: Judged, gone: bool) -> None:
    change = updated(tmp_path, entry("a"), now)
    assert (change.removed == ("x-1/a: fail: old",)) is gone
    kept = [each for each in tomllib.loads(change.after).get("accepted", []) if each["signature"] == "old"]
    assert bool([each for each in kept if each["verdict"] == "fail"]) is not gone


def test_a_part_that_was_not_reached_keeps_the_entry(tmp_path: Path) -> None:
    tests = [judged(Verdict.PASS, "x-1/a", test="1"), judged(Verdict.ERROR, "x-1/a", test="2")]
    assert updated(tmp_path, entry("a"), *tests).removed == ()


def test_a_rule_that_was_not_selected_keeps_its_entry(tmp_path: Path) -> None:
    assert updated(tmp_path, entry("a"), judged(Verdict.PASS, "x-1/b")).removed == ()


@pytest.mark.parametrize("other", [{"product": "garagemq"}, {"versions": ">=3.11"}])
def test_entries_about_others_stay(tmp_path: Path, other: dict[str, str]) -> None:
    change = updated(tmp_path, entry("a", **other), *ALL_PASS)
    assert (change.removed, change.diff) == ((), "")


def test_an_expired_entry_is_left_to_a_person(tmp_path: Path) -> None:
    before = entry("a") + "expires = 2020-01-01\n"
    change = updated(tmp_path, before, *with_(FAIL_A))
    assert (change.added, change.removed, change.diff) == ((), (), "")
    assert change.expired == ("x-1/a: expired on 2020-01-01",)


def test_a_flaky_rule_needs_no_entry(tmp_path: Path) -> None:
    fails = judged(Verdict.FAIL, "x-1/d", signature="x for 405")
    assert updated(tmp_path, FLAKY, *with_(fails)).diff == ""


# -- the file --------------------------------------------------------------------------------------------


def test_comments_and_order_stay(tmp_path: Path) -> None:
    fails = [judged(Verdict.FAIL, f"x-1/{name}", signature="old") for name in "ac"]
    change = updated(tmp_path, FILE, *with_(*fails))
    assert change.removed == ("x-1/b: fail: old",)
    assert change.after == FILE.replace("# right above b\n", "").replace(entry("b") + "\n", "")


def test_the_first_entry_goes_with_its_comment_and_the_head_stays(tmp_path: Path) -> None:
    fails = [judged(Verdict.FAIL, f"x-1/{name}", signature="old") for name in "bc"]
    change = updated(tmp_path, FILE, *with_(*fails))
    assert change.after == FILE.replace("# right above a\n" + entry("a") + "\n", "")


def test_the_last_entry_goes_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    fails = [judged(Verdict.FAIL, f"x-1/{name}", signature="old") for name in "ab"]
    new = judged(Verdict.FAIL, "x-1/d", signature="new")
    change = updated(tmp_path, FILE, *with_(*fails, new))
    head = FILE.replace("# right above c\n" + entry("c"), "")
    assert change.after.startswith(head + '[[accepted]]\nrule = "x-1/d"\n')
    assert rules_of(change.after) == ["x-1/a", "x-1/b", "x-1/d"]


def test_all_entries_go_and_the_head_stays(tmp_path: Path) -> None:
    change = updated(tmp_path, FILE, *ALL_PASS)
    assert len(change.removed) == 3
    assert change.after.startswith("# What is accepted of RabbitMQ.\n\n# a section of its own\n")
    assert rules_of(change.after) == []


def test_new_entries_stand_before_the_flaky_ones_and_leave_their_comment_alone(tmp_path: Path) -> None:
    new = judged(Verdict.FAIL, "x-1/b", signature="new")
    change = updated(tmp_path, entry("a") + FLAKY, *with_(FAIL_A, new))
    assert change.after.startswith(entry("a") + "\n[[accepted]]\n")
    assert change.after.endswith('\nversions = ">=3.10,<3.11"\n' + FLAKY)
    assert rules_of(change.after) == ["x-1/a", "x-1/b"]


def test_removing_leaves_the_comment_of_what_follows(tmp_path: Path) -> None:
    change = updated(tmp_path, entry("a") + "\n" + entry("b") + FLAKY, *with_(FAIL_A))
    assert change.after == entry("a") + FLAKY


def test_a_file_without_a_last_line_feed_is_extended(tmp_path: Path) -> None:
    new = judged(Verdict.FAIL, "x-1/b", signature="new")
    change = updated(tmp_path, entry("a").rstrip("\n"), *with_(FAIL_A, new))
    assert change.after.startswith(entry("a") + "\n[[accepted]]\n")


def test_tables_that_do_not_stand_together_are_refused(tmp_path: Path) -> None:
    new = judged(Verdict.FAIL, "x-1/c", signature="new")
    with pytest.raises(BaselineError, match="must stand together"):
        updated(tmp_path, entry("a") + FLAKY + entry("b"), *with_(FAIL_A, new))


def test_a_range_is_made_from_what_the_target_says(tmp_path: Path) -> None:
    change = updated(tmp_path, None, FAIL_A, version="4-beta")
    assert tomllib.loads(change.after)["accepted"][0]["versions"] == ">=4,<5"


def test_a_target_without_a_version_has_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="no product and version"):
        updated(tmp_path, None, FAIL_A, version="unknown")


def test_a_run_that_was_changed_is_refused(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", FAIL_A)
    stream = run / "events.jsonl"
    stream.write_text(stream.read_text().replace('"signature":"old"', '"signature":"new"'))
    with pytest.raises(EvidenceError, match="changed after the run"):
        update(run, tmp_path / "baseline.toml", RULES)


# -- the command -----------------------------------------------------------------------------------------

BINDS = "0-9-1/queue.bind.exchange.exchange-existence"
DURABLE = "0-9-1/queue.declare.durable.persistence"


@pytest.fixture
def faulty() -> Iterator[str]:
    """The URL of a peer that binds to exchanges which do not exist."""
    change = checks().deviations[BINDS][0].change
    with TcpPeer(dialect("0-9-1").proof.peer(change)) as served:
        yield f"amqp://guest:guest@127.0.0.1:{served.port}"


def test_from_a_run_to_a_gate_that_is_met(amqp_conformance: Command, faulty: str, tmp_path: Path) -> None:
    """What a user does: run, look, update, be refused, fill in, be let through."""
    file = tmp_path / "accepted.toml"
    judge = ("run", BINDS, DURABLE, "--target", faulty, "--parallel", "0", "--output")
    assert amqp_conformance(*judge, tmp_path / "first").returncode == 1
    update_it = ("baseline", "update", tmp_path / "first", "--baseline", file)
    dry = amqp_conformance(*update_it, "--dry-run")
    assert (dry.returncode, file.exists()) == (0, False)
    assert f'+rule = "{BINDS}"' in dry.stdout
    done = amqp_conformance(*update_it)
    assert (done.returncode, "2 added, 0 removed\n2 still blank" in done.stdout) == (0, True)
    blank = [line for line in done.stdout.splitlines() if ": reason of 0-9-1/" in line]
    assert [line.partition(":")[0] for line in blank] == [str(file)] * 2
    refused = amqp_conformance(*judge, tmp_path / "second", "--baseline", file)
    assert refused.returncode == 2
    assert f"entry 1 ({BINDS}): reason is empty" in refused.stderr
    assert not (tmp_path / "second").exists()
    text = file.read_text()
    for number in range(2):
        text = text.replace('reason = ""', f'reason = "Argument {number}."', 1)
    file.write_text(text)
    met = amqp_conformance(*judge, tmp_path / "third", "--baseline", file)
    assert met.returncode == 0, met.stdout
    assert "nothing unexpected against the baseline" in " ".join(met.stdout.split())


def test_a_missing_run_is_one_sentence(amqp_conformance: Command, tmp_path: Path) -> None:
    done = amqp_conformance("baseline", "update", "no-such-run", "--baseline", "b.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-run" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_comes_with_the_suite_is_not_changed(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match=r"^@rabbitmq-4\.3 comes with the suite and stays as it is"):
        update_baseline(tmp_path, Path("@rabbitmq-4.3"), False, Console())


def test_all_that_is_blank_is_found_where_it_stands(tmp_path: Path) -> None:
    before = FILE.replace('sentence = "The server MUST refuse."', 'sentence = ""  # whose?', 1) + FLAKY
    change = updated(tmp_path, before.replace('"Depends on the order of two threads."', "''"), *with_(FAIL_A))
    text = change.after.splitlines()
    for told, words in zip(change.blank(), ("sentence of x-1/a", "reason of x-1/d"), strict=True):
        place, _, what = told.partition(": ")
        assert what == words
        assert text[int(place.rpartition(":")[2]) - 1].startswith(words.split()[0])
