"""A folder of Allure 2 results: a result per test, its expectations as steps, its exchange attached."""

import hashlib
import json
import uuid
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from conformance.evidence.explanation import as_text
from conformance.evidence.kinds import Judged, TestStarted
from conformance.evidence.printable import printable
from conformance.evidence.verdicts import TABLE, Verdict
from conformance.render.report import Report
from harness.wire.journal import Expected, Grade
from spec.rules import Level, Rule

FOLDER = "allure-results"
SEVERITY = {Level.MUST: "critical", Level.SHOULD: "normal", Level.MAY: "minor"}
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "amqp-conformance")


def write_allure(report: Report, folder: Path) -> list[Path]:
    """Write the results into `folder`; gives the files, of the same names and contents for the same run."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "categories.json": _json(list(_categories())),
        "environment.properties": _environment(report),
        "executor.json": _json(_executor(report)),
    }
    began = {
        line.event.test: line.wall for line in reversed(report.lines) if isinstance(line.event, TestStarted)
    }
    steps = _steps(report)
    judged = [(line.wall, line.event) for line in report.lines if isinstance(line.event, Judged)]
    for number, (wall, test) in enumerate(judged):
        identity = uuid.uuid5(_NAMESPACE, f"{report.started.run} {number} {test.test}")
        result = _result(report, test, identity, steps.get(test.test, []))
        result["start"] = _milliseconds(report, began.get(test.test, wall - test.duration))
        result["stop"] = _milliseconds(report, wall)
        explained = report.explained(test)
        if explained is not None:
            attached = f"{identity}-attachment.txt"
            files[attached] = as_text(explained) + "\n"
            result["attachments"] = [{"name": "exchange", "source": attached, "type": "text/plain"}]
        files[f"{identity}-result.json"] = _json(result)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def history_of(test: Judged) -> str:
    """Say what makes Allure see the same test in two runs."""
    return hashlib.md5(test.test.encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()


def labels(test: Judged, rule: Rule | None) -> list[dict[str, str]]:
    """Give rule, level and place of a test as Allure's labels."""
    told = {
        "rule": test.rule,
        "verdict": str(test.verdict),
        "severity": SEVERITY[rule.level if rule else test.level],
        "parentSuite": rule.document if rule else "in no document",
        "suite": rule.section if rule else "in no document",
        "framework": "amqp-conformance",
    }
    return [{"name": name, "value": printable(value)} for name, value in told.items()]


def message(test: Judged) -> str:
    """Give the finding in one printable line, the verdict first."""
    finding = test.signature or test.detail
    return printable(f"{test.verdict}: {finding}" if finding else str(test.verdict))


def _result(report: Report, test: Judged, identity: uuid.UUID, steps: list[dict[str, Any]]) -> dict[str, Any]:
    rule = report.rules.get(test.rule)
    status = test.verdict.row.allure
    return {
        "uuid": str(identity),
        "historyId": history_of(test),
        "testCaseId": history_of(test),
        "fullName": printable(test.test),
        "name": printable(test.test),
        "status": status,
        "statusDetails": {"message": message(test), "trace": printable(test.detail)},
        "stage": "finished",
        "descriptionHtml": f"<p>{escape(printable(rule.text))}</p>" if rule else "",
        "labels": labels(test, rule),
        "steps": [step | {"status": step["status"] or status} for step in steps],
    }


def _steps(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Give the expectations of each test. One that was not met has no status: it has that of its test."""
    steps: dict[str, list[dict[str, Any]]] = {}
    for line in report.lines:
        if isinstance(line.event, Expected) and line.test is not None:
            expected = line.event
            told = f"expect {' | '.join(expected.outcomes)}: {expected.actual} ({expected.grade})"
            steps.setdefault(line.test, []).append(
                {
                    "name": printable(told),
                    "status": "" if expected.grade is Grade.UNMET else "passed",
                    "stage": "finished",
                    "start": _milliseconds(report, line.wall - expected.waited),
                    "stop": _milliseconds(report, line.wall),
                }
            )
    return steps


def _milliseconds(report: Report, wall: float) -> int:
    return round((report.began + wall) * 1000)


def _executor(report: Report) -> dict[str, str]:
    name = f"amqp-conformance {report.started.suite}"
    return {"name": printable(name), "type": "amqp-conformance", "buildName": report.name}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True) + "\n"


def _categories() -> Iterable[dict[str, Any]]:
    """Give every verdict but a pass a category: by status alone a warning would be passed, and no more."""
    for row in TABLE:
        if row.verdict is not Verdict.PASS:
            name, regex = f"{row.symbol} {row.verdict}", f"{row.verdict}(: .*)?"
            yield {"name": name, "matchedStatuses": [row.allure], "messageRegex": regex}


def _environment(report: Report) -> str:
    return "".join(f"{key}={_property(value)}\n" for key, value in _facts(report))


def _facts(report: Report) -> Iterable[tuple[str, str]]:
    yield from report.summary().items()
    yield "profile", report.started.profile
    for number, document in enumerate(report.started.documents, 1):
        yield f"document-{number}", f"{document.get('title')} {document.get('revision')}"


def _property(value: str) -> str:
    return json.dumps(printable(value).replace("\\", "\\\\"))[1:-1].replace("\\\\", "\\").replace('\\"', '"')
