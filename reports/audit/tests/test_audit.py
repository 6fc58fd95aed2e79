import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.evidence.verdicts import Verdict
from reports.audit.audit import OnBuild, audit
from reports.audit.audit_table import BAD, BOASTS, GOOD, MEASURED, STATUS_OF, Measured, Status
from reports.audit.claims import Meaning, load
from reports.warehouse.tests.statements import (
    RULES,
    WORDS,
    A,
    B,
    C,
    claims,
    column,
    found,
    of_method,
    of_rule,
    one,
    rule,
)  # fmt: skip
from spec.catalogue import catalogue
from spec.rules import Party, Place, Testability


def test_every_claim_and_every_measurement_meet_in_the_table_once() -> None:
    assert sorted(STATUS_OF) == sorted(itertools.product(Measured, Meaning))
    assert sorted(MEASURED) == sorted(Verdict)
    assert {each for each in Status if each.against} == {Status.CONTRADICTED, Status.OVERSTATED}


@pytest.mark.parametrize("meaning", Meaning)
def test_only_what_is_missed_or_broken_speaks_against_a_claim(meaning: Meaning) -> None:
    boasts = meaning in BOASTS
    for measured in Measured:
        against = STATUS_OF[measured, meaning].against
        if against and measured is not Measured.LACKING:
            assert measured in BAD | {Measured.PARTLY}
            assert boasts
        if measured in BAD | {Measured.PARTLY} and boasts:
            assert against
        if measured in GOOD | {Measured.OPEN}:
            assert not against
    assert STATUS_OF[Measured.OPEN, meaning] is Status.NOT_VERIFIED


CONTRADICTED, OVERSTATED, UNDERSTATED = Status.CONTRADICTED, Status.OVERSTATED, Status.UNDERSTATED
CONFIRMED, UNVERIFIED = Status.CONFIRMED, Status.NOT_VERIFIED


@pytest.mark.parametrize(
    ("status", "verdict", "becomes"),
    [
        ("kept", Verdict.PASS, CONFIRMED),
        ("kept", Verdict.INFO, CONFIRMED),
        ("kept", Verdict.WARN, OVERSTATED),
        ("kept", Verdict.FAIL, CONTRADICTED),
        ("kept", Verdict.INAPPLICABLE, UNVERIFIED),
        ("kept", Verdict.ERROR, UNVERIFIED),
        ("kept", Verdict.NOT_RUN, UNVERIFIED),
        ("kept", Verdict.INCONCLUSIVE, UNVERIFIED),
        ("kept", Verdict.UNTESTABLE, UNVERIFIED),
        ("partly", Verdict.PASS, UNDERSTATED),
        ("partly", Verdict.FAIL, CONFIRMED),
        ("not-kept", Verdict.PASS, UNDERSTATED),
        ("not-kept", Verdict.WARN, CONFIRMED),
        ("not-kept", Verdict.FAIL, CONFIRMED),
        ("not-kept", Verdict.INAPPLICABLE, CONFIRMED),
        ("planned", Verdict.PASS, UNDERSTATED),
        ("planned", Verdict.FAIL, CONFIRMED),
        ("used", Verdict.PASS, CONFIRMED),
        ("used", Verdict.FAIL, CONTRADICTED),
        ("unused", Verdict.PASS, UNVERIFIED),
        ("unused", Verdict.FAIL, UNVERIFIED),
        ("unused", Verdict.INAPPLICABLE, CONFIRMED),
    ],
)
def test_what_becomes_of_a_claim_about_a_rule(status: str, verdict: Verdict, becomes: Status) -> None:
    result = one(of_rule(status), column(found(A, verdict, detail="because")))
    assert result.status is becomes
    assert A.id in result.sentence
    assert str(verdict) in result.sentence
    assert "Peer 1.0 @ embedded" in result.sentence


@pytest.mark.parametrize("grade", ["tolerated", "preferred", "recorded"])
def test_a_legal_outcome_confirms_though_it_is_not_the_preferred_one(grade: str) -> None:
    legal = one(of_rule("kept"), column(found(A, Verdict.WARN, grade=grade)))
    assert legal.status is CONFIRMED
    assert "legal but not preferred" in legal.sentence
    missed = one(of_rule("kept"), column(found(A, Verdict.WARN, grade="unmet")))
    assert missed.status is OVERSTATED
    assert one(of_rule("not-kept"), column(found(A, Verdict.WARN, grade=grade))).status is CONFIRMED


def test_a_tolerated_reading_is_said_with_the_builds_that_need_it() -> None:
    tolerated = found(A, Verdict.WARN, grade="tolerated", reading="4.8.1 says only usually")
    result = one(of_rule("kept"), column(tolerated, version="2.0"), column(found(A, P), version="1.0"))
    assert result.status is CONFIRMED
    assert not result.plain
    assert "legal but not preferred: 4.8.1 says only usually) [Peer 2.0 @ embedded]" in result.sentence
    of_many = one(of_method("kept"), column(tolerated, found(B, P)))
    assert "4.8.1 says only usually" in of_many.sentence
    assert one(of_rule("kept"), column(found(A, P)), column(found(A, P), version="2.0")).plain


def test_what_a_reading_leaves_open_is_said_with_the_reading() -> None:
    recorded = found(A, Verdict.INFO, reading="no sentence says which", grade="recorded")
    result = one(of_rule("kept"), column(recorded))
    assert result.status is CONFIRMED
    assert not result.plain
    assert "404 instead of 405 (legal either way, and recorded: no sentence says which)" in result.sentence
    of_many = one(of_method("kept"), column(recorded, found(B, P)))
    assert not of_many.plain
    assert "no sentence says which" in of_many.sentence


def test_what_speaks_against_a_claim_is_said_with_the_rule() -> None:
    asks = rule(A.id, text="The server MUST close the connection.")
    told = one(of_rule("not-kept", level="SHOULD"), column(found(asks, F)), rules=[asks])
    assert (
        "404 instead of 405; the rule: The server MUST close the connection. (the vendor states SHOULD)"
        in told.sentence
    )
    assert "the rule:" not in one(of_rule("kept"), column(found(asks, P)), rules=[asks]).sentence


def test_a_note_is_part_of_the_sentence() -> None:
    noted = of_rule("kept", note="half of it is not judged")
    for columns in ([column(found(A, P))], []):
        result = one(noted, *columns)
        assert result.sentence.endswith("; note: half of it is not judged")
        assert not result.plain
    unknown = one(noted | {"rule": "x-1/none"}, column())
    assert unknown.sentence == "no document has the rule x-1/none; note: half of it is not judged"


def test_a_build_that_settles_nothing_is_named_where_it_was_judged() -> None:
    absent = column(found(A, Verdict.INAPPLICABLE, detail="no such feature"), version="2.0")
    result = one(of_rule("kept"), column(found(A, P), version="1.0"), absent)
    assert result.status is CONFIRMED
    assert "not verified: " in result.sentence
    assert "[Peer 2.0 @ embedded]" in result.sentence


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.WARN])
@pytest.mark.parametrize(
    "whose",
    [
        {"judged": Party.CLIENT},
        {"judged": Party.APPLICATION},
        {"testability": Testability.CLIENT},
    ],
)
def test_a_duty_of_clients_is_not_verified_on_a_broker(whose: dict[str, Any], verdict: Verdict) -> None:
    clients = rule(**whose)
    result = one(of_rule("kept"), column(found(clients, verdict)), rules=[clients])
    assert result.status is UNVERIFIED
    assert "the duty of a client" in result.sentence
    assert "so it is" in result.sentence


@pytest.mark.parametrize("status", WORDS)
def test_what_alternates_settles_nothing(status: str) -> None:
    result = one(of_rule(status), column(found(A, Verdict.FAIL, seen=(Verdict.FAIL, Verdict.PASS))))
    assert result.status is UNVERIFIED
    assert "alternates on this build: fail, pass" in result.sentence


@pytest.mark.parametrize("status", WORDS)
def test_info_at_the_level_may_settles_nothing(status: str) -> None:
    result = one(of_rule(status), column(found(A, Verdict.INFO, level="may")))
    assert result.status is UNVERIFIED
    assert "either way is legal" in result.sentence


def test_of_a_freedom_what_was_seen_is_said_and_whose_it_is() -> None:
    free = found(A, Verdict.INFO, level="may", actual="a header of 0-9")
    seen = one(of_rule("used"), column(free))
    assert "the document leaves it free, and either way is legal; seen: a header of 0-9 [" in seen.sentence
    application = rule(A.id, binds=Party.APPLICATION)
    theirs = one(of_rule("kept"), column(free), rules=[application])
    assert theirs.status is UNVERIFIED
    assert "the sentence binds the application, what the server makes of it is left free" in theirs.sentence


def test_that_a_freedom_is_left_unused_no_rule_about_its_use_tells() -> None:
    for verdict in (Verdict.PASS, Verdict.FAIL):
        result = one(of_rule("unused", level="MAY"), column(found(A, verdict)))
        assert result.status is UNVERIFIED
        assert "not about whether it is used" in result.sentence


def test_what_was_not_judged_or_joins_nothing_says_so() -> None:
    entries = [
        (of_rule("kept"), "not judged on this build"),
        ({"rule": "x-1/none", "status": "kept"}, "no document has the rule x-1/none"),
        ({"method": "queue.none", "status": "kept"}, "no rule is about the method queue.none"),
        ({"class": "none", "status": "kept"}, "no rule is about the class none"),
        (of_method("kept", document="y-1"), "no rule is about the method queue.bind"),
        (
            {"prose": "4.2 x", "section": "4.2", "status": "kept"},
            "no rule in the catalogue is about section 4.2",
        ),
        ({"prose": "x", "section": "queue.bind", "status": "kept"}, "does not say which rules of section"),
        ({"prose": "y", "rules": ["x-1/none"], "status": "kept"}, "no document has the rule x-1/none"),
    ]
    for entry, sentence in entries:
        result = one(entry, column())
        assert result.status is UNVERIFIED
        assert sentence in result.sentence


P, W, F, N, U = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INAPPLICABLE, Verdict.NOT_RUN


@pytest.mark.parametrize(
    ("status", "verdicts", "becomes"),
    [
        ("kept", (P, P, P), CONFIRMED),
        ("kept", (P, P, U), CONFIRMED),
        ("kept", (P, P, N), CONFIRMED),
        ("kept", (P, P, F), OVERSTATED),
        ("kept", (P, W, P), OVERSTATED),
        ("kept", (W, W, U), OVERSTATED),
        ("kept", (F, F, F), CONTRADICTED),
        ("kept", (F, W, U), CONTRADICTED),
        ("kept", (N, N, U), OVERSTATED),
        ("kept", (U, U, U), UNVERIFIED),
        ("partly", (P, P, P), UNVERIFIED),
        ("partly", (P, P, F), CONFIRMED),
        ("partly", (F, F, F), CONFIRMED),
        ("partly", (N, N, N), OVERSTATED),
        ("not-kept", (P, P, F), UNDERSTATED),
        ("not-kept", (P, P, P), UNDERSTATED),
        ("not-kept", (F, F, W), CONFIRMED),
        ("planned", (N, N, N), CONFIRMED),
        ("unused", (P, F, P), UNVERIFIED),
    ],
)
def test_what_becomes_of_a_claim_about_a_method(
    status: str, verdicts: tuple[Verdict, ...], becomes: Status
) -> None:
    told = [found(each, verdict) for each, verdict in zip((A, B, C), verdicts, strict=True)]
    result = one(of_method(status), column(*told))
    assert result.status is becomes
    assert "of 3 rules" in result.sentence
    for each in told:
        if each.verdict in (W, F):
            assert each.rule in result.sentence


def test_prose_about_one_rule_is_judged_as_a_rule() -> None:
    entry = {"prose": "row", "rules": [A.id], "status": "partly"}
    assert one(entry, column(found(A, P))).status is UNDERSTATED
    assert one(entry | {"rules": [A.id, B.id]}, column(found(A, P), found(B, P))).status is UNVERIFIED


def test_what_the_vendor_admits_in_a_more_specific_entry_does_not_count_against_a_general_one() -> None:
    told = claims(of_method("kept"), of_rule("not-kept"))
    general, special = audit(told, [column(found(A, F), found(B, P))], RULES).results
    assert special.status is CONFIRMED
    assert (general.status, general.against) == (UNVERIFIED, False)
    assert "(admitted in entry 2)" in general.sentence
    assert "in general" not in general.sentence
    worse = audit(told, [column(found(A, F), found(B, P), found(C, W))], RULES).results[0]
    assert worse.status is OVERSTATED
    assert [each.rule for each in worse.builds[0].against] == [C.id]


def test_what_is_admitted_in_an_entry_as_specific_does_not_count_either() -> None:
    both = rule("x-1/queue.bind.both", place=Place((("class", "queue"), ("method", "bind")), 0))
    told = claims(
        {"prose": "one", "rules": [A.id, both.id], "status": "kept"},
        {"prose": "other", "rules": [both.id], "status": "partly"},
        {"prose": "third", "rules": [both.id], "status": "kept"},
    )
    results = audit(told, [column(found(A, P), found(both, F))], (A, both)).results
    assert [each.status for each in results] == [UNVERIFIED, CONFIRMED, UNVERIFIED]
    assert all("(admitted in entry 2)" in each.sentence for each in (results[0], results[2]))
    assert "takes back part of it itself" in results[2].sentence


def test_an_admission_elsewhere_leaves_an_admission_as_it_is() -> None:
    told = claims(of_method("partly"), of_rule("not-kept"))
    result = audit(told, [column(found(A, F), found(B, P))], RULES).results[0]
    assert result.status is CONFIRMED
    assert "entry 2" not in result.sentence


def test_an_admission_counts_only_for_the_versions_it_is_about() -> None:
    told = claims(of_method("kept"), of_rule("not-kept", versions="<2"))
    result = audit(told, [column(found(A, F), found(B, P), version="2.0")], RULES).results[0]
    assert result.status is OVERSTATED


def test_a_general_admission_is_told_but_does_not_excuse_a_specific_claim() -> None:
    told = claims(of_rule("kept"), of_method("partly"))
    result = audit(told, [column(found(A, F), found(B, P))], RULES).results[0]
    assert result.status is CONTRADICTED
    assert "in general admitted in entry 2" in result.sentence


def test_builds_that_differ_make_it_version_dependent_and_each_is_named() -> None:
    columns = [column(found(A, F), version="2.0"), column(found(A, P), version="1.0"), column(version="3.0")]
    result = one(of_rule("kept"), *columns)
    assert (result.status, result.against) == (Status.VERSION_DEPENDENT, True)
    assert "confirmed: " in result.sentence
    assert "[Peer 1.0 @ embedded]" in result.sentence
    assert "contradicted: " in result.sentence
    assert "[Peer 2.0 @ embedded]" in result.sentence
    assert "3.0" not in result.sentence
    assert [each.status for each in result.builds] == [CONFIRMED, CONTRADICTED, UNVERIFIED]


def test_several_runs_of_one_build_are_its_history() -> None:
    older = replace(column(found(A, P), found(B, F)), started="2026-11-19T12:00:00.000000Z")
    cut = replace(column(found(A, U), found(B, U)), started="2026-11-21T12:00:00.000000Z", partial=1)
    for columns in (
        [older, column(found(A, F), found(B, F)), cut],
        [cut, column(found(A, F), found(B, F)), older],
    ):
        whole = audit(claims(of_rule("kept"), of_rule("kept") | {"rule": B.id}), columns, RULES)
        assert len(whole.builds) == 1
        assert [each.status for each in whole.results] == [UNVERIFIED, CONTRADICTED]
        assert "alternates on this build: fail, pass" in whole.results[0].sentence


def test_a_claim_is_held_only_against_the_product_and_versions_it_is_about() -> None:
    told = claims(of_rule("kept"), versions=">=2")
    columns = [
        column(found(A, F), version="1.9"),
        column(found(A, P), version="2.1", product="pEER"),
        column(found(A, F), version="2.1", product="Other"),
    ]
    whole = audit(told, columns, RULES)
    assert [each.version for each in whole.builds] == ["2.1"]
    assert whole.results[0].status is CONFIRMED
    assert len(whole.left_out) == 2
    assert any("another product than Peer" in each for each in whole.left_out)
    assert any("a version that no entry is about" in each for each in whole.left_out)


def test_the_gate_is_asked_for() -> None:
    bad = audit(claims(of_rule("kept")), [column(found(A, F))], RULES)
    assert (bad.exit_status(strict=False), bad.exit_status(strict=True)) == (0, 1)
    good = audit(claims(of_rule("kept")), [column(found(A, P))], RULES)
    assert good.exit_status(strict=True) == 0
    mixed = audit(claims(of_rule("kept")), [column(found(A, W)), column(found(A, P), version="2")], RULES)
    assert mixed.results[0].status is Status.VERSION_DEPENDENT
    assert mixed.exit_status(strict=True) == 1


@given(
    st.lists(st.sampled_from(Verdict), min_size=3, max_size=3),
    st.sampled_from(sorted(WORDS)),
    st.sampled_from(sorted(WORDS)),
)
def test_no_claim_is_spoken_against_without_evidence(
    verdicts: list[Verdict], general: str, special: str
) -> None:
    told = claims(of_method(general), of_rule(special))
    findings = [found(each, verdict) for each, verdict in zip((A, B, C), verdicts, strict=True)]
    for result in audit(told, [column(*findings)], RULES).results:
        assert result.sentence
        build: OnBuild = result.builds[0]
        if build.against:
            assert build.status in (CONTRADICTED, OVERSTATED)
            assert all(each.finding and each.finding.verdict in (W, F) for each in build.against)
        elif result.against:
            assert build.measured is Measured.LACKING
        if result.status is CONTRADICTED:
            assert F in verdicts


def test_the_vendors_page_against_a_build_of_which_nothing_was_measured() -> None:
    told = load(Path(__file__).parents[3] / "ci" / "claims" / "rabbitmq.toml")
    known = catalogue()
    whole = audit(told, [column(product="RabbitMQ", version="3.10.8")], known.rules, known.aliases)
    assert len(whole.of(UNVERIFIED)) == len(whole.results) == 217
    about_rules = [each for each in whole.results if each.claim.subject == "rule"]
    assert all(len(each.rules) == 1 for each in about_rules)
    assert [each.claim.name for each in whole.results if not each.rules] == []
    assert whole.exit_status(strict=True) == 0
