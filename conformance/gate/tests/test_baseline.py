from datetime import date
from pathlib import Path

import pytest

from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline import Baseline, BaselineReport, apply
from conformance.gate.baseline_file import BaselineError, load
from conformance.render.tests.samples import RULE, judged, results_of
from spec.rules import Role

OTHER = "x-1/basic.get.other"
TODAY = date(2026, 6, 1)
ENTRY = f"""
[[accepted]]
rule = "{RULE}"
verdict = "fail"
signature = "declare-ok for 405"
sentence = "The server MUST refuse."
reading = "as it stands"
frame = "queue.declare-ok channel=1"
reason = "Known since the beginning."
product = "RabbitMQ"
versions = ">=3.10,<3.11"
"""
FAILED = judged(Verdict.FAIL, signature="declare-ok for 405")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "baseline.toml"


def loaded(file: Path, text: str = ENTRY) -> Baseline:
    file.write_text(text)
    return load(file)


def held(
    baseline: Baseline, *tests: Judged, product: str = "rabbitmq", version: str = "3.10.8"
) -> BaselineReport:
    return apply(results_of(*tests), baseline, product, version, Role.SERVER, TODAY, {RULE, OTHER})


def clean(report: BaselineReport) -> bool:
    return not (report.failures or report.passes or report.stale or report.unmatched)


def test_a_file_is_loaded(file: Path) -> None:
    (entry,) = loaded(file, ENTRY + 'ticket = "T-1"\nexpires = 2026-12-31\n').accepted
    assert (entry.rule, entry.verdict, entry.ticket) == (RULE, Verdict.FAIL, "T-1")
    assert entry.expires == date(2026, 12, 31)


def test_an_empty_baseline_accepts_nothing(file: Path) -> None:
    report = held(loaded(file, ""), FAILED)
    assert [each.sentence for each in report.failures] == ["declare-ok for 405"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[[accepted", "not valid TOML"),
        (ENTRY + 'reason = "Twice."', "not valid TOML"),
        ("accepted = 1", r"only \[\[accepted\]\], \[\[cause\]\], \[\[flaky\]\] and \[\[read\]\] tables"),
        ("[other]\n" + ENTRY, r"only \[\[accepted\]\], \[\[cause\]\], \[\[flaky\]\] and \[\[read\]\] tables"),
        ("accepted = [1]", "entry 1: not a table"),
        (ENTRY + 'comment = "x"', "entry 1 .*: unknown key comment"),
        (ENTRY.replace('frame = "queue.declare-ok channel=1"', ""), "frame missing"),
        (ENTRY.replace("Known since the beginning.", "  "), "reason is empty: somebody has to fill that in"),
        (ENTRY.replace("The server MUST refuse.", ""), "sentence is empty"),
        (ENTRY.replace('"declare-ok for 405"', "7"), "signature must be a text"),
        (ENTRY + 'role = "broker"\n', "role 'broker' is none of server, client"),
        (ENTRY.replace('"fail"', '"error"'), "verdict 'error' cannot be accepted"),
        (ENTRY.replace('"fail"', '"bad"'), "verdict 'bad' cannot be accepted"),
        (ENTRY.replace(">=3.10,<3.11", "3.10 or so"), "versions '3.10 or so' is not a range"),
        (ENTRY + 'expires = "soon"', "expires 'soon' is not a date"),
        (ENTRY + "expires = 2026-12-31T00:00:00", "is not a date"),
        (ENTRY + "expires = 7", "expires 7 is not a date"),
        (ENTRY + ENTRY.replace(RULE, OTHER), "entries 1 and 2 have the same reason"),
        (
            ENTRY + ENTRY.replace(RULE, OTHER).replace("Known since", "known  SINCE"),
            "entries 1 and 2 have the same reason",
        ),
        (ENTRY + ENTRY.replace("Known", "Seen"), "entries 1 and 2 have the same finding"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_with_the_file(file: Path, text: str, wrong: str) -> None:
    with pytest.raises(BaselineError, match=f"^{file}: .*{wrong}") as raised:
        loaded(file, text)
    assert "\n" not in str(raised.value)


def test_a_missing_file_and_one_that_is_not_text_are_named(file: Path) -> None:
    with pytest.raises(BaselineError, match="cannot be read"):
        load(file)
    file.write_bytes(b"\xff")
    with pytest.raises(BaselineError, match="not valid TOML"):
        load(file)


def test_the_accepted_finding_is_excused(file: Path) -> None:
    report = held(loaded(file), FAILED)
    assert clean(report)
    assert list(report.excused) == [RULE]


@pytest.mark.parametrize(
    "test",
    [
        judged(Verdict.FAIL, signature="something else"),
        judged(Verdict.INCONCLUSIVE, signature="declare-ok for 405"),
        judged(Verdict.ERROR, signature="declare-ok for 405"),
        judged(Verdict.FAIL, OTHER, signature="declare-ok for 405"),
    ],
)
def test_another_finding_is_not(file: Path, test: Judged) -> None:
    report = held(loaded(file), test)
    assert not report.excused
    assert [each.rule for each in report.failures] == [test.rule]


def test_a_failure_in_another_way_leaves_the_entry_unmatched(file: Path) -> None:
    report = held(loaded(file), judged(Verdict.FAIL, signature="something else"))
    assert [each.sentence for each in report.unmatched] == [
        "accepted for another finding: declare-ok for 405"
    ]


@pytest.mark.parametrize("other", [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.ERROR])
def test_one_accepted_part_does_not_excuse_the_others(file: Path, other: Verdict) -> None:
    report = held(loaded(file), FAILED, judged(other, test="second", signature="b"))
    assert not report.excused
    assert [each.sentence for each in report.failures] == ["b"]


def test_an_accepted_part_stays_excused_beside_one_that_passed(file: Path) -> None:
    assert clean(held(loaded(file), FAILED, judged(Verdict.PASS, test="second")))


def test_two_entries_excuse_two_parts(file: Path) -> None:
    second = ENTRY.replace("declare-ok for 405", "b").replace("Known", "Another, known")
    report = held(loaded(file, ENTRY + second), FAILED, judged(Verdict.FAIL, test="second", signature="b"))
    assert clean(report)
    assert len(report.excused[RULE]) == 2


@pytest.mark.parametrize("now", [Verdict.PASS, Verdict.WARN, Verdict.INFO, Verdict.INAPPLICABLE])
def test_a_rule_that_no_longer_fails_is_an_unexpected_pass(file: Path, now: Verdict) -> None:
    report = held(loaded(file), judged(now))
    assert [(each.rule, each.verdict) for each in report.passes] == [(RULE, now)]
    assert not report.failures


def test_a_warning_needs_no_entry_but_may_have_one(file: Path) -> None:
    warned = judged(Verdict.WARN, signature="declare-ok for 405")
    assert clean(held(loaded(file, ""), warned))
    baseline = loaded(file, ENTRY.replace('"fail"', '"warn"'))
    assert clean(held(baseline, warned))
    assert held(baseline, judged(Verdict.PASS)).passes


def test_an_entry_holds_through_its_last_day(file: Path) -> None:
    assert clean(held(loaded(file, ENTRY + "expires = 2026-06-01"), FAILED))
    report = held(loaded(file, ENTRY + "expires = 2026-05-31"), FAILED)
    assert len(report.stale) == 1
    assert [each.rule for each in report.failures] == [RULE]
    assert not report.excused


def test_an_entry_for_a_rule_of_no_document_is_unmatched(file: Path) -> None:
    report = held(loaded(file, ENTRY.replace(RULE, "x-1/gone")))
    assert [(each.rule, each.sentence) for each in report.unmatched] == [
        ("x-1/gone", "no document has this rule")
    ]


def test_an_entry_for_a_rule_that_was_not_selected_is_silent(file: Path) -> None:
    report = held(loaded(file), judged(Verdict.PASS, OTHER))
    assert clean(report)
    assert report.not_reached == 1


@pytest.mark.parametrize(
    ("product", "version", "applies"),
    [
        ("RabbitMQ", "3.10.0", True),
        ("RABBITMQ", "3.10.8-1.1+deb12u1", True),
        ("RabbitMQ", "3.11.0", False),
        ("RabbitMQ", "3.9.99", False),
        ("RabbitMQ", "", False),
        ("RabbitMQ", "unknown", False),
        ("garagemq", "3.10.0", False),
    ],
)
def test_entries_are_about_one_product_and_range(
    file: Path, product: str, version: str, applies: bool
) -> None:
    report = held(loaded(file), FAILED, product=product, version=version)
    assert bool(report.excused) is applies
    assert report.elsewhere == (0 if applies else 1)
    assert bool(report.failures) is not applies


# -- flaky -----------------------------------------------------------------------------------------------

FLAKY = f"""
[[flaky]]
rule = "{RULE}"
verdicts = ["pass", "fail", "inconclusive"]
sentence = "The server MUST refuse."
reason = "Two threads race for it."
product = "RabbitMQ"
versions = ">=3.10,<3.11"
"""


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE])
def test_a_flaky_rule_may_alternate_and_is_reported_apart(file: Path, verdict: Verdict) -> None:
    report = held(loaded(file, FLAKY), judged(verdict, signature="whatever"))
    assert clean(report)
    assert list(report.flaky) == [RULE]
    assert not report.excused


@pytest.mark.parametrize("signature", ["get-empty", "connection.close 501"])
def test_of_one_verdict_alone_it_is_the_finding_that_alternates(file: Path, signature: str) -> None:
    alone = FLAKY.replace('["pass", "fail", "inconclusive"]', '["fail"]')
    report = held(loaded(file, alone), judged(Verdict.FAIL, signature=signature))
    assert (report.failures, list(report.flaky)) == ((), [RULE])


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.NOT_RUN])
def test_a_flaky_rule_may_not_come_to_anything_else(file: Path, verdict: Verdict) -> None:
    report = held(loaded(file, FLAKY), judged(verdict, signature="why"))
    assert [each.sentence for each in report.failures] == ["why"]
    assert not report.flaky


def test_every_part_of_a_flaky_rule_must_stay_in_the_list(file: Path) -> None:
    report = held(loaded(file, FLAKY), judged(Verdict.FAIL), judged(Verdict.ERROR, test="second"))
    assert [each.rule for each in report.failures] == [RULE]


def test_flaky_entries_are_about_one_product_and_range(file: Path) -> None:
    report = held(loaded(file, FLAKY), FAILED, version="3.11.0")
    assert (len(report.failures), dict(report.flaky)) == (1, {})


def test_a_flaky_entry_for_a_rule_of_no_document_is_unmatched(file: Path) -> None:
    report = held(loaded(file, FLAKY.replace(RULE, "x-1/gone")))
    assert [each.rule for each in report.unmatched] == ["x-1/gone"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (ENTRY + FLAKY, r"entry 1 and flaky entry 1 are about the same rule and versions \(x-1/"),
        (FLAKY + FLAKY, "flaky entry 1 and flaky entry 2 are about the same rule"),
        (ENTRY + FLAKY.replace(">=3.10,<3.11", ">3.9"), "about the same rule"),
        (ENTRY.replace(">=3.10,<3.11", "==3.10.*") + FLAKY.replace(">=3.10,<3.11", "<=3.10"), "same rule"),
        (FLAKY.replace(', "fail", "inconclusive"', ""), "verdicts must be two or more"),
        (FLAKY.replace('"fail", "inconclusive"', '"info"'), "one of them a blocking one"),
        (FLAKY.replace('"pass"', '"error"'), "verdicts must be a list of"),
        (FLAKY.replace('["pass", "fail", "inconclusive"]', '"fail"'), "verdicts must be a list of"),
        (FLAKY.replace("Two threads race for it.", ""), "flaky entry 1 .*: reason is empty"),
        (FLAKY + 'signature = "s"', "unknown key signature"),
    ],
)
def test_what_is_wrong_with_a_flaky_entry_is_said(file: Path, text: str, wrong: str) -> None:
    with pytest.raises(BaselineError, match=f"^{file}: .*{wrong}"):
        loaded(file, text)


@pytest.mark.parametrize("other", [">=3.11", "<3.10", "==3.9.*", ">=3.9,<3.10"])
def test_a_rule_may_be_flaky_in_other_versions_than_it_is_accepted_in(file: Path, other: str) -> None:
    baseline = loaded(file, ENTRY + FLAKY.replace(">=3.10,<3.11", other))
    assert (len(baseline.accepted), len(baseline.flaky)) == (1, 1)


SEVERAL = ENTRY.replace(f'rule = "{RULE}"', f'rules = ["{RULE}", "{OTHER}"]')
SIGNED = (
    ENTRY.replace(f'rule = "{RULE}"\n', "").replace('signature = "declare-ok for 405"\n', "")
    + f'[accepted.rules]\n"{RULE}" = "declare-ok for 405"\n"{OTHER}" = "bind-ok for 405"\n'
)


@pytest.mark.parametrize(
    ("text", "signature"), [(SEVERAL, "declare-ok for 405"), (SIGNED, "bind-ok for 405")]
)
def test_rules_that_miss_for_one_reason_share_an_entry(file: Path, text: str, signature: str) -> None:
    other = judged(Verdict.FAIL, OTHER, signature=signature)
    report = held(loaded(file, text), FAILED, other)
    assert report.excused.keys() == {RULE, OTHER}
    assert clean(report)
    passed = held(loaded(file, text), FAILED, judged(Verdict.PASS, OTHER))
    assert [each.rule for each in passed.passes] == [OTHER]


def test_a_signature_of_an_entry_counts_for_its_own_rule_alone(file: Path) -> None:
    other = judged(Verdict.FAIL, OTHER, signature="declare-ok for 405")
    report = held(loaded(file, SIGNED), FAILED, other)
    assert [each.rule for each in report.failures] == [OTHER]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (SEVERAL + f'rule = "{RULE}"\n', "entry 1: rule beside rules"),
        (SIGNED.replace("reading", 'signature = "s"\nreading'), "entry 1: signature beside rules"),
        (SEVERAL.replace(f'"{RULE}", "{OTHER}"', ""), "entry 1: rules must be a list of rules"),
        (SEVERAL.replace(f'"{OTHER}"', "1"), "entry 1: rules must be a list of rules"),
        (SEVERAL.replace(OTHER, RULE), f"entry 1: rules has {RULE} twice"),
        (SIGNED.replace('"bind-ok for 405"', "1"), rf"entry 1 \({OTHER}\): signature must be a text"),
        (SIGNED.replace("bind-ok for 405", ""), rf"entry 1 \({OTHER}\): signature is empty"),
        (SEVERAL + ENTRY.replace("Known", "Long known"), "entries 1 and 2 have the same finding"),
        (SEVERAL + ENTRY.replace("405", "406"), "entries 1 and 2 have the same reason"),
        (ENTRY + "entry = 1\n", "unknown key entry"),
    ],
)
def test_what_is_wrong_with_an_entry_of_several_rules_is_said(file: Path, text: str, wrong: str) -> None:
    with pytest.raises(BaselineError, match=wrong):
        loaded(file, text)


def test_several_rules_may_be_flaky_for_one_reason(file: Path) -> None:
    flaky = loaded(file, FLAKY.replace(f'rule = "{RULE}"', f'rules = ["{RULE}", "{OTHER}"]'))
    assert [each.rule for each in flaky.flaky] == [RULE, OTHER]
    assert held(flaky, FAILED, judged(Verdict.FAIL, OTHER)).flaky.keys() == {RULE, OTHER}
