"""Claims, rules and columns made by hand, for the tests of the audit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Standing
from reports.audit.audit import Audited, audit
from reports.audit.claims import Meaning, read
from reports.model.findings import Build, Column, Finding
from spec.rules import Level, Party, Place, Rule, Testability

HOSTILE = "\x1b[31m<script>alert(1)</script>[bold]x|`**\u202e\n\n# head"
WORDS = {str(meaning): str(meaning) for meaning in Meaning}


def rule(id: str = "x-1/queue.bind.a", **changes: Any) -> Rule:
    names = id.partition("/")[2].split(".")
    path = tuple(zip(("class", "method", "rule"), names, strict=False))
    values: dict[str, Any] = {
        "id": id,
        "document": id.partition("/")[0],
        "name": names[-1],
        "section": ".".join(names[:2]),
        "place": Place(path, 0),
        "text": "The server MUST.",
        "scenario": "Try it.",
        "scenario_is_ours": False,
        "on_failure": None,
        "level": Level.MUST,
        "binds": Party.SERVER,
        "judged": Party.SERVER,
        "testability": Testability.ACTIVE,
        "reason": "so it is",
        "reading": "",
    }
    return Rule(**(values | changes))


def column(
    *findings: Finding, version: str = "1.0", product: str = "Peer", target: str = "embedded"
) -> Column:
    return Column(
        build=Build(product, version, target),
        run="r1",
        folder="runs/r1",
        started="2026-11-20T12:00:00.000000Z",
        suite="0.1.0",
        level="should",
        profile="document",
        standing=Standing.NOT_CERTIFIED,
        sentence="",
        scores=(),
        documents=(),
        runs=1,
        partial=0,
        findings={each.rule: each for each in findings},
    )


A, B, C = (rule(f"x-1/queue.bind.{name}") for name in "abc")
PURGE = rule("x-1/queue.purge.p")
RULES = (A, B, C, PURGE)


def found(of: Rule, verdict: Verdict, **changes: Any) -> Finding:
    signature = "" if verdict is Verdict.PASS else "404 instead of 405"
    told = Finding(
        test="",
        rule=of.id,
        verdict=verdict,
        signature=signature,
        seen=(verdict,),
        folder="runs/r 1",
        run="r1",
    )
    return replace(told, **changes)


def claims(*entries: dict[str, Any], **head: Any) -> Any:
    data = {
        "vendor": "Example", "product": "Peer", "title": "T", "source": "S", "document": "x-1",
        "statuses": WORDS, "claim": list(entries),
    }  # fmt: skip
    return read(data | head, "claims.toml")


def one(entry: dict[str, Any], *columns: Column, rules: Iterable[Rule] = RULES) -> Audited:
    return audit(claims(entry), columns, tuple(rules)).results[0]


def of_rule(status: str, **changes: Any) -> dict[str, Any]:
    return {"rule": A.id, "status": status} | changes


def of_method(status: str, **changes: Any) -> dict[str, Any]:
    return {"method": "queue.bind", "status": status} | changes
