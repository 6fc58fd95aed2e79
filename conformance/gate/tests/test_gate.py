from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline import BaselineReport, apply
from conformance.gate.baseline_file import load
from conformance.gate.gate import Exit, Gate, gate, scores
from conformance.render.tests.samples import judged, results_of, rule
from spec.rules import Level, Party, Role
from spec.rules import Testability as Judgeable

RULES = [
    rule("must"),
    rule("should", level=Level.SHOULD),
    rule("may", level=Level.MAY),
    rule("untestable", testability=Judgeable.UNTESTABLE),
    rule("client", judged=Party.CLIENT, testability=Judgeable.CLIENT),
    rule("peer", judged=Party.PEER),
]
ALL_PASS = [judged(Verdict.PASS, each) for each in ("must", "should", "may", "peer")]


def with_(*changed: Judged) -> list[Judged]:
    return [each for each in ALL_PASS if each.rule not in {c.rule for c in changed}] + list(changed)


def at(level: Level, tests: list[Judged], **more: object) -> Gate:
    return gate(results_of(*tests), RULES, level, **{"role": Role.SERVER, **more})  # type: ignore[arg-type]


def test_all_passed_is_certified() -> None:
    it = at(Level.MAY, ALL_PASS)
    assert (it.certified, it.met, it.exit_status) == (True, True, Exit.MET)
    assert it.judged == 4
    assert it.sentence == "certified as server at level may: all 4 rules"
    assert [each.id for each in it.apart] == ["untestable", "client"]


@pytest.mark.parametrize("verdict", [Verdict.WARN, Verdict.INFO, Verdict.INAPPLICABLE])
def test_what_does_not_block_is_certified(verdict: Verdict) -> None:
    assert at(Level.MUST, with_(judged(verdict, "must"))).certified


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.ERROR, Verdict.NOT_RUN])
def test_what_blocks_is_not(verdict: Verdict) -> None:
    it = at(Level.MUST, with_(judged(verdict, "must", signature="why")))
    assert (it.certified, it.met, it.exit_status) == (False, False, Exit.NOT_MET)
    assert [str(reason) for reason in it.reasons] == [f"must: {verdict}: why"]
    assert it.sentence == "not certified as server at level must; 1 of 2 rules stand against it"


def test_a_rule_without_any_verdict_blocks() -> None:
    it = at(Level.MUST, [each for each in ALL_PASS if each.rule != "peer"])
    assert [reason.rule for reason in it.reasons] == ["peer"]
    assert it.exit_status is Exit.NOT_MET


def test_rules_below_the_level_do_not_count() -> None:
    tests = with_(judged(Verdict.FAIL, "may"))
    assert at(Level.SHOULD, tests).certified
    assert not at(Level.MAY, tests).certified


def test_a_broker_is_not_judged_by_the_clients_duties() -> None:
    tests = [judged(Verdict.PASS, each) for each in ("must", "peer")]
    assert at(Level.MUST, tests, role=Role.SERVER).certified
    client = at(Level.MUST, tests, role=Role.CLIENT)
    assert [reason.rule for reason in client.reasons] == ["client"]


def test_a_client_is_not_held_to_what_no_check_asks_of_it() -> None:
    tests = [judged(Verdict.PASS, each) for each in ("must", "client")]
    tests.append(judged(Verdict.UNTESTABLE, "peer"))
    it = at(Level.MUST, tests, role=Role.CLIENT)
    assert it.sentence == (
        "certified as client at level must: all 2 rules that are asked of it;"
        " 1 more have no check of a client yet"
    )
    server = at(Level.MUST, tests, role=Role.SERVER)
    assert [reason.rule for reason in server.reasons] == ["peer"]


def test_a_failure_of_a_rule_called_untestable_counts() -> None:
    it = at(Level.MUST, with_(judged(Verdict.FAIL, "untestable")))
    assert [reason.rule for reason in it.reasons] == ["untestable"]
    assert at(Level.MUST, with_(judged(Verdict.UNTESTABLE, "untestable"))).certified


def test_a_test_cannot_call_its_rule_untestable() -> None:
    assert not at(Level.MUST, with_(judged(Verdict.UNTESTABLE, "must"))).certified


def test_a_verdict_about_no_rule_blocks() -> None:
    it = at(Level.MUST, with_(judged(Verdict.PASS, "invented")))
    assert [str(reason) for reason in it.reasons] == ["invented: judged, but in no document"]
    assert not it.met


def test_a_selection_is_judged_but_certifies_nothing() -> None:
    it = at(Level.MUST, [judged(Verdict.PASS, "must")], selected=["must"])
    assert (it.certified, it.met, it.exit_status) == (False, True, Exit.MET)
    assert it.sentence == "not a certification: 1 of the 6 rules that may apply to it were selected"


def test_a_selected_rule_counts_at_any_level() -> None:
    it = at(Level.MUST, [judged(Verdict.ERROR, "may")], selected=["may"])
    assert it.exit_status is Exit.NOT_MET
    assert "1 of 1 rules stand against it" in it.sentence


def test_a_selected_rule_without_verdict_blocks() -> None:
    assert at(Level.MUST, [], selected=["may"]).exit_status is Exit.NOT_MET


def test_selecting_all_that_counts_is_a_certification() -> None:
    assert at(Level.MUST, ALL_PASS, selected=["must", "peer"]).certified
    assert at(Level.MUST, ALL_PASS, selected=[each.id for each in RULES]).certified


@pytest.mark.parametrize("selected", [[], ["untestable"], ["client"], ["gone"]])
def test_nothing_that_can_be_judged_is_never_met(selected: list[str]) -> None:
    it = at(Level.MUST, [], selected=selected)
    assert (it.certified, it.met, it.exit_status) == (False, False, Exit.NOTHING)
    assert it.sentence.startswith("nothing that this run can judge was selected")


def test_no_rules_at_all_certify_nothing() -> None:
    assert gate([], [], Level.MUST, Role.SERVER).exit_status is Exit.NOTHING


def test_a_lost_target_is_told_first() -> None:
    it = at(Level.MUST, ALL_PASS, lost="the target died")
    assert (it.certified, it.met, it.exit_status) == (False, False, Exit.UNREACHABLE)
    assert it.sentence == "the target died"


def test_a_run_cut_short_is_never_met(tmp_path: Path) -> None:
    passed = [judged(Verdict.PASS, "must")]
    for it in (
        at(Level.MUST, ALL_PASS, cut="interrupted"),
        at(Level.MUST, passed, cut="interrupted", selected=["must"]),
        at(Level.MUST, ALL_PASS, cut="interrupted", baseline=held(tmp_path, ALL_PASS, "")),
    ):
        assert (it.certified, it.met, it.exit_status) == (False, False, Exit.NOT_MET)
        assert it.sentence.startswith("interrupted")


ENTRY = """
[[accepted]]
rule = "must"
verdict = "fail"
signature = "s"
sentence = "x"
reading = "x"
frame = "x"
reason = "x"
product = "p"
versions = ">=1"
"""


def held(tmp_path: Path, tests: list[Judged], text: str = ENTRY) -> BaselineReport:
    (tmp_path / "b.toml").write_text(text)
    baseline = load(tmp_path / "b.toml")
    return apply(
        results_of(*tests), baseline, "p", "1", Role.SERVER, date(2026, 1, 1), {each.id for each in RULES}
    )


def test_an_accepted_failure_meets_the_gate_but_is_not_certified(tmp_path: Path) -> None:
    tests = with_(judged(Verdict.FAIL, "must", signature="s"))
    it = at(Level.MUST, tests, baseline=held(tmp_path, tests))
    assert (it.certified, it.met, it.exit_status) == (False, True, Exit.MET)
    assert [str(reason) for reason in it.reasons] == ["must: fail: s"]
    assert it.sentence.endswith("1 of 2 rules stand against it; nothing unexpected against the baseline")


@pytest.mark.parametrize(
    ("change", "text", "rule"),
    [
        (judged(Verdict.FAIL, "must", signature="t"), ENTRY, "must"),
        (judged(Verdict.ERROR, "must", signature="s"), ENTRY, "must"),
        (judged(Verdict.PASS, "must"), ENTRY, "must"),
        (judged(Verdict.PASS, "must"), ENTRY.replace('"must"', '"gone"'), "gone"),
        (judged(Verdict.FAIL, "must", signature="s"), ENTRY + "expires = 2025-01-01", "must"),
    ],
)
def test_all_else_is_unexpected(tmp_path: Path, change: Judged, text: str, rule: str) -> None:
    tests = with_(change)
    it = at(Level.MUST, tests, baseline=held(tmp_path, tests, text))
    assert it.exit_status is Exit.NOT_MET
    assert rule in {reason.rule for reason in it.unexpected}


def test_with_a_baseline_an_unexpected_pass_is_still_certified(tmp_path: Path) -> None:
    it = at(Level.MUST, ALL_PASS, baseline=held(tmp_path, ALL_PASS))
    assert (it.certified, it.met) == (True, False)


def test_a_rule_never_judged_is_not_covered_by_a_baseline(tmp_path: Path) -> None:
    tests = [judged(Verdict.PASS, "peer")]
    assert not at(Level.MUST, tests, baseline=held(tmp_path, tests)).met


def test_a_flaky_rule_stands_apart(tmp_path: Path) -> None:
    file = tmp_path / "baseline.toml"
    file.write_text(
        """
        [[flaky]]
        rule = "must"
        verdicts = ["pass", "fail"]
        sentence = "It MUST."
        reason = "Two threads race for it."
        product = "RabbitMQ"
        versions = ">=3"
        """
    )
    tests = with_(judged(Verdict.FAIL, "must", signature="why"))
    rules = [each.id for each in RULES]
    report = apply(results_of(*tests), load(file), "RabbitMQ", "3.10", Role.SERVER, date(2026, 6, 1), rules)
    it = at(Level.MUST, tests, baseline=report)
    assert (it.certified, it.met, it.unexpected) == (False, True, ())
    assert [str(each) for each in it.flaky] == ["must: fail this time, known to alternate between pass, fail"]
    assert it.sentence.endswith("nothing unexpected against the baseline; 1 flaky, reported apart")


# -- documents about what only some products promise ----------------------------------------------------

NACK = [
    rule("rabbitmq/must", document="rabbitmq"),
    rule("rabbitmq/should", document="rabbitmq", level=Level.SHOULD),
]


def beside(verdict: Verdict, **more: object) -> Gate:
    tests = [*ALL_PASS, judged(verdict, "rabbitmq/must"), judged(Verdict.PASS, "rabbitmq/should")]
    return gate(results_of(*tests), [*RULES, *NACK], Level.MUST, Role.SERVER, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.NOT_RUN])
def test_what_only_some_products_promise_has_a_gate_of_its_own(verdict: Verdict) -> None:
    it, alone = beside(verdict), at(Level.MUST, ALL_PASS)
    assert it == replace(alone, documents=it.documents, aside=it.aside)
    assert it.aside == {each.id for each in NACK}
    own = it.documents["rabbitmq"]
    assert own.certified is (verdict is Verdict.PASS)
    assert own.judged == 1
    assert [each.level for each in scores(results_of(*ALL_PASS), RULES, Role.SERVER)] == [*Level]


def test_a_run_that_was_narrowed_to_it_is_met_by_it() -> None:
    for verdict, status in ((Verdict.PASS, Exit.MET), (Verdict.FAIL, Exit.NOT_MET)):
        it = gate(
            results_of(judged(verdict, "rabbitmq/must"), judged(Verdict.PASS, "rabbitmq/should")),
            [*RULES, *NACK],
            Level.MUST,
            Role.SERVER,
            selected={each.id for each in NACK},
        )
        assert (it.exit_status, it.certified, it.aside) == (status, False, frozenset())
        assert it.sentence.startswith(
            "not a certification: 2 of the 8 rules that may apply to it were selected"
        )
        assert it.documents["rabbitmq"].certified is (verdict is Verdict.PASS)


def test_what_is_promised_in_part_says_of_what() -> None:
    of_one = [replace(each, capability="basic.nack") for each in NACK]
    tests = [judged(Verdict.PASS, "rabbitmq/must"), judged(Verdict.PASS, "rabbitmq/should")]
    it = gate(results_of(*ALL_PASS, *tests), [*RULES, *of_one], Level.MUST, Role.SERVER)
    assert it.asides()[0].startswith("rabbitmq: of basic.nack alone: certified as server at level must")
    whole = gate(results_of(*ALL_PASS, *tests), [*RULES, NACK[0], of_one[1]], Level.MUST, Role.SERVER)
    assert "alone" not in whole.documents["rabbitmq"].sentence


def test_it_says_nothing_where_nothing_of_it_was_selected() -> None:
    it = gate(results_of(*ALL_PASS), [*RULES, *NACK], Level.MUST, Role.SERVER, selected={"must"})
    assert it.documents == {}
    assert it.sentence == "not a certification: 1 of the 8 rules that may apply to it were selected"


WARNED = with_(judged(Verdict.WARN, "should", signature="why"))
ON_WARN = {"fail_on": "warn"}


def test_a_gate_that_fails_on_warnings_does_so_at_any_level_and_certifies_the_same() -> None:
    assert at(Level.MUST, WARNED).met
    it = at(Level.MUST, WARNED, **ON_WARN)
    assert (it.certified, it.met, it.exit_status) == (True, False, Exit.NOT_MET)
    assert it.sentence == (
        "certified as server at level must: all 2 rules; the gate fails on warnings, too: 1 rule came to one"
    )
    assert at(Level.MUST, ALL_PASS, **ON_WARN).met
    assert at(Level.MUST, ALL_PASS, **ON_WARN).sentence.endswith("too: there is none")


def test_only_warnings_of_what_was_selected_count() -> None:
    assert not at(Level.MUST, WARNED, selected=["should"], **ON_WARN).met
    assert at(Level.MUST, [judged(Verdict.PASS, "must")], selected=["must"], **ON_WARN).met


def test_a_baseline_accepts_warnings(tmp_path: Path) -> None:
    file = tmp_path / "baseline.toml"
    told = ENTRY.replace('"must"', '"should"').replace('"fail"', '"warn"').replace('"s"', '"why"')
    file.write_text(told)
    for tests, unexpected in ((WARNED, []), (ALL_PASS, ["should"])):
        known = {each.id for each in RULES}
        day = date(2026, 1, 1)
        report = apply(results_of(*tests), load(file), "p", "1", Role.SERVER, day, known, fail_on="warn")
        it = at(Level.MUST, tests, baseline=report, **ON_WARN)
        assert [each.rule for each in it.unexpected] == unexpected
        assert it.met == (not unexpected)
    empty = BaselineReport({}, (), (), (), (), 0, 0)
    assert [str(each) for each in at(Level.MUST, WARNED, baseline=empty, **ON_WARN).unexpected] == [
        "should: warn: why"
    ]
