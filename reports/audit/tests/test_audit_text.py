import json
from io import StringIO

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from conformance.evidence.verdicts import Verdict
from reports.audit.audit import Audit, audit
from reports.audit.audit_table import Status
from reports.audit.audit_text import as_json, as_markdown, as_terminal
from reports.warehouse.tests.statements import (
    HOSTILE,
    RULES,
    A,
    B,
    C,
    claims,
    column,
    found,
    of_method,
    of_rule,
    rule,
)

_SHOWN = (Status.CONTRADICTED, Status.UNDERSTATED, Status.CONFIRMED, Status.NOT_VERIFIED)


def whole() -> Audit:
    hostile = rule("x-1/queue.bind.h", text=HOSTILE, reading=HOSTILE)
    told = claims(
        of_rule("kept", level=HOSTILE),
        {"rule": hostile.id, "status": "kept", "note": HOSTILE},
        {"rule": C.id, "status": "not-kept"},
        {"prose": HOSTILE, "status": "kept"},
        vendor=HOSTILE,
        source=HOSTILE,
    )
    columns = [
        column(
            found(A, Verdict.PASS),
            found(
                hostile, Verdict.FAIL, signature=HOSTILE, reading=HOSTILE, expected=(HOSTILE,), actual=HOSTILE
            ),
            found(C, Verdict.PASS),
            target=HOSTILE,
        ),
        column(product=HOSTILE),
    ]
    return audit(told, columns, (*RULES, hostile))


def on_terminal(told: Audit, width: int = 120) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=False)
    console.print(as_terminal(told))
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 120, 300])
def test_terminal_puts_contradictions_first_in_printable_characters(width: int) -> None:
    text = on_terminal(whole(), width)
    assert all(each.isprintable() for each in text.replace("\n", ""))
    places = [text.index(f"{status}: ") for status in _SHOWN]
    assert places == sorted(places)
    if width == 300:
        assert "4 claims: 1 contradicted, 1 understated, 1 confirmed, 1 not verified" in text
        assert "amqp-conformance replay 'runs/r 1' x-1/queue.bind.h" in text
        assert "2 rules are in no entry" in text


def test_terminal_shows_the_evidence_on_a_rule_once() -> None:
    told = audit(
        claims(of_rule("kept"), of_method("kept")),
        [column(found(A, Verdict.FAIL), found(B, Verdict.PASS))],
        RULES,
    )
    assert on_terminal(told, 300).count("amqp-conformance replay") == 1


def test_json_says_the_same_in_ascii_in_the_order_of_the_claims() -> None:
    text = as_json(whole())
    assert text.isascii()
    told = json.loads(text)
    assert [each["entry"] for each in told["claims"]] == [1, 2, 3, 4]
    assert sum(told["counts"].values()) == 4
    second = told["claims"][1]
    assert (second["status"], second["against"]) == ("contradicted", True)
    (evidence,) = second["builds"][0]["evidence"]
    assert (evidence["verdict"], evidence["signature"], evidence["folder"]) == ("fail", HOSTILE, "runs/r 1")
    assert evidence["replay"] == "amqp-conformance replay 'runs/r 1' x-1/queue.bind.h"


def test_markdown_lets_nothing_of_anybody_become_markup() -> None:
    text = as_markdown(whole())
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script>" not in text
    assert "<h1>" not in html
    assert (html.count("<h2>"), html.count("<h3>"), html.count("<strong>")) == (1, 4, 1)
    assert all(each.isprintable() for each in text.replace("\n", ""))


def test_the_same_audit_renders_to_the_same_octets_in_any_order_of_columns() -> None:
    told = claims(of_rule("kept"), of_method("kept"))
    columns = [
        column(found(A, Verdict.FAIL), found(B, Verdict.PASS), version=version)
        for version in ("10.0", "9.0", "9.1")
    ]
    first, second = audit(told, columns, RULES), audit(told, columns[::-1], RULES)
    for render in (as_json, as_markdown, on_terminal):
        assert render(first) == render(second)
    assert [each.version for each in first.builds] == ["9.0", "9.1", "10.0"]


def test_what_a_status_does_not_say_is_told_of_a_confirmed_claim_too() -> None:
    tolerated = found(A, Verdict.WARN, grade="tolerated", reading="the document says only usually")
    plain = audit(claims(of_rule("kept")), [column(found(A, Verdict.PASS))], RULES)
    told = audit(claims(of_rule("kept")), [column(tolerated)], RULES)
    assert "1 confirmed" in on_terminal(plain, 300)
    assert A.id + ": pass" not in on_terminal(plain, 300)
    assert "the document says only usually" in on_terminal(told, 300)
    assert "the document says only usually" in as_markdown(told)
