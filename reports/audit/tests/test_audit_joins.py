"""Which rules a claim is joined to: those it names, and those about what it names."""

import pytest

from reports.audit.audit import audit
from reports.audit.audit_table import Status
from reports.warehouse.tests.statements import PURGE, RULES, A, B, C, claims, column, of_method, one, rule
from spec.catalogue import catalogue
from spec.rules import Place


def test_rules_are_joined_by_what_stands_around_them() -> None:
    inside = rule("x-1/queue.c", place=Place((("class", "queue"), ("rule", "c")), 0))
    domain = rule("x-1/domain.queue.d", place=Place((("domain", "queue"), ("rule", "d")), 0))
    rules = (*RULES, inside, domain)
    told = claims(
        of_method("kept"),
        {"class": "queue", "status": "kept"},
        {"prose": "p", "rules": [A.id, PURGE.id], "status": "kept"},
        {"rule": "x-1/old", "status": "kept"},
    )
    results = audit(told, [], rules, {"x-1/old": C.id}).results
    assert [each.rules for each in results] == [
        (A.id, B.id, C.id),
        (A.id, B.id, C.id, PURGE.id, inside.id),
        (A.id, PURGE.id),
        (C.id,),
    ]
    assert audit(told, [], rules).unclaimed == (domain.id,)
    assert all(each.status is Status.NOT_VERIFIED for each in results)
    assert "no build that it is about was measured" in results[0].sentence


def test_a_row_about_prose_may_name_many_rules_by_a_pattern() -> None:
    many, none = (
        one({"prose": "p", "rules": [pattern], "status": "kept"}, column(), rules=RULES)
        for pattern in ("x-1/*", "x-9/*")
    )
    assert many.rules == tuple(each.id for each in RULES)
    assert none.rules == ()
    assert "no document has the rule x-9/*" in none.sentence


@pytest.mark.parametrize(
    ("method", "joined", "apart"),
    [
        ("connection.open-ok", {"connection.open.answers", "connection.open-ok.reserved-1.carries"}, set()),
        ("connection.secure", {"connection.secure-ok.implemented"}, {"connection.secure-ok.truncated"}),
        ("queue.bind-ok", {"queue.bind.answers"}, {"queue.bind.truncated", "queue.bind-ok.wrong-way"}),
        ("basic.recover", {"basic.recover.implemented"}, {"basic.recover.channel-zero"}),
        ("basic.get-empty", {"basic.get.answers"}, {"basic.get.truncated"}),
        ("tx.commit", {"tx.commit.answers"}, {"tx.rollback.answers"}),
    ],
)
def test_that_a_method_is_implemented_the_grammar_says_too(
    method: str, joined: set[str], apart: set[str]
) -> None:
    rules = catalogue().rules
    named = {each.id.partition("0-9-1/grammar/")[2] for each in rules}
    assert joined | apart <= named
    result = one({"method": method, "status": "kept", "document": "0-9-1"}, column(), rules=rules)
    found_there = {each.partition("0-9-1/grammar/")[2] for each in result.rules}
    assert joined <= found_there
    assert not apart & found_there
    whole = one(
        {"class": method.partition(".")[0], "status": "kept", "document": "0-9-1"}, column(), rules=rules
    )
    assert set(result.rules) <= set(whole.rules)
    elsewhere = one({"method": method, "status": "kept", "document": "1-0"}, column(), rules=rules)
    assert elsewhere.rules == ()
