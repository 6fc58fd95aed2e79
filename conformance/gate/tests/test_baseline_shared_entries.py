"""`baseline update`: entries that several rules share, made and taken apart."""

import tomllib
from pathlib import Path

import pytest

from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline_file import load
from conformance.gate.tests.test_baseline_update import FLAKY, entry, updated, with_
from conformance.render.tests.samples import judged

LISTED = "# above\n" + entry("a").replace(
    'rule = "x-1/a" # the tail of a', 'rules = [\n    "x-1/a",\n    "x-1/b",  # why b\n    "x-1/c",\n]'
)
SIGNED = (
    "# above\n"
    + entry("a").replace('rule = "x-1/a" # the tail of a\n', "").replace('signature = "old"\n', "")
    + '\n[accepted.rules]\n"x-1/a" = "old"\n"x-1/b" = "older"\n"x-1/c" = "oldest"\n'
)
BELOW = FLAKY.replace("x-1/d", "x-1/may")
OLDEST = {"x-1/a": "old", "x-1/b": "older", "x-1/c": "oldest"}


@pytest.mark.parametrize(("several", "below"), [(LISTED, ""), (SIGNED, ""), (LISTED, BELOW), (SIGNED, BELOW)])
@pytest.mark.parametrize("left", ["a", "c", "ab", "bc", "abc", ""])
def test_an_entry_of_several_rules_loses_those_that_pass(
    tmp_path: Path, several: str, below: str, left: str
) -> None:
    signatures = OLDEST if several is SIGNED else dict.fromkeys(OLDEST, "old")
    still = [judged(Verdict.FAIL, f"x-1/{name}", signature=signatures[f"x-1/{name}"]) for name in left]
    change = updated(tmp_path, several + below, *with_(*still, judged(Verdict.FAIL, "x-1/d", signature="d")))
    kept = load(change.path, unfinished=True).accepted
    assert [(each.rule, each.signature) for each in kept] == [
        *((each.rule, each.signature) for each in still), ("x-1/d", "d"),
    ]  # fmt: skip
    assert len(change.removed) == 3 - len(left)
    if below:
        assert change.after.endswith(below)


def test_what_is_alike_shares_an_entry(tmp_path: Path) -> None:
    alike = [judged(Verdict.FAIL, f"x-1/{name}", signature="no answer", reading="as ever") for name in "abd"]
    other = judged(Verdict.FAIL, "x-1/c", signature="no answer", reading="read otherwise")
    change = updated(tmp_path, None, *with_(*alike, other))
    first, second = tomllib.loads(change.after)["accepted"]
    assert first["rules"] == ["x-1/a", "x-1/b", "x-1/d"]
    assert first["sentence"] == "The server MUST refuse."
    assert (second["rule"], second["reading"]) == ("x-1/c", "read otherwise")
    assert "# x-1/b: The server MUST refuse.\n" in change.after
    assert [each.rpartition(": ")[2] for each in change.blank()] == [
        "reason of x-1/a and 2 more",
        "reason of x-1/c",
    ]
    assert [each.rule for each in load(change.path, unfinished=True).accepted] == [
        "x-1/a", "x-1/b", "x-1/d", "x-1/c",
    ]  # fmt: skip
