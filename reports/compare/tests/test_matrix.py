"""The matrix as data: the same numbers everywhere, nothing lost, and nothing of a peer's that does harm."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.verdicts import Verdict
from reports.compare.matrix import DetectionError, Matrix, Proof, as_csv, as_json, matrix, read_detection
from reports.model.findings import Build, Column
from reports.site.tests.sites import EXCLUSIVE, JUDGED, NOT_FOUND, TAG, two_builds
from scenarios.registry import checks
from spec.catalogue import catalogue
from spec.rules import Role


@pytest.fixture
def columns(tmp_path: Path) -> tuple[Column, ...]:
    return tuple(two_builds(tmp_path).columns)


def made(*columns: Column, **more: Any) -> Matrix:
    return matrix(catalogue(), checks(), columns, **more)


def renamed(column: Column, product: str) -> Column:
    return replace(column, build=replace(column.build, product=product))


def as_data(table: Matrix) -> Any:
    return json.loads("".join(as_json(table)))


def as_table(table: Matrix) -> list[list[str]]:
    return list(csv.reader(io.StringIO(as_csv(table))))


def test_every_rule_has_one_row_in_the_order_of_the_catalogue(columns: tuple[Column, ...]) -> None:
    assert tuple(row.identity for row in made(*columns).rows) == JUDGED


def test_rules_stand_under_their_class_and_section(columns: tuple[Column, ...]) -> None:
    (chapter,) = made(*columns).chapters
    groups = {group.heading: group for group in chapter.groups}
    sections = {section.heading: section.rows for section in groups["class queue"].sections}
    assert EXCLUSIVE in [row.identity for row in sections["queue.declare"]]
    (section,) = groups["domain delivery-tag"].sections
    assert section.heading == ""
    assert TAG in [row.identity for row in section.rows]


def test_the_json_has_the_counts_of_the_columns(columns: tuple[Column, ...]) -> None:
    data = as_data(made(*columns))
    for place, column in enumerate(columns):
        cells = [rule["verdicts"][place] for rule in data["rules"]]
        counted = Counter(cell["verdict"] for cell in cells if cell)
        told = data["builds"][place]["counts"]
        assert counted == {word: count for word, count in told.items() if count}
        assert counted == Counter(str(each.verdict) for each in column.findings.values())
        assert set(told) == set(map(str, Verdict))


def test_the_json_tells_standing_and_scores_as_the_run_did(columns: tuple[Column, ...]) -> None:
    for told, column in zip(as_data(made(*columns))["builds"], columns, strict=True):
        assert told["standing"] == column.standing
        assert [(each["level"], each["judged"], each["against"]) for each in told["scores"]] == [
            (score.level, score.judged, score.against) for score in column.scores
        ]


def test_the_csv_has_the_verdicts_of_the_json(columns: tuple[Column, ...]) -> None:
    table = made(*columns)
    _, *lines = as_table(table)
    told = {line[0]: line[-len(columns) :] for line in lines}
    for rule in as_data(table)["rules"]:
        assert told[rule["rule"]] == [cell["verdict"] if cell else "" for cell in rule["verdicts"]]


def test_a_rule_that_no_run_was_about_is_null_and_empty(columns: tuple[Column, ...]) -> None:
    table = made(*columns)
    rule = next(each for each in as_data(table)["rules"] if each["rule"] == TAG)
    assert [cell and cell["verdict"] for cell in rule["verdicts"]] == ["pass", None]
    line = next(each for each in as_table(table) if each[0] == TAG)
    assert line[-2:] == ["pass", ""]


def test_a_flaky_finding_says_so(columns: tuple[Column, ...]) -> None:
    finding = replace(columns[0].findings[TAG], seen=(Verdict.FAIL, Verdict.PASS), runs=2)
    table = made(replace(columns[0], findings={TAG: finding}))
    assert next(each for each in as_table(table) if each[0] == TAG)[-1] == "pass flaky"
    assert next(each for each in as_data(table)["rules"] if each["rule"] == TAG)["verdicts"][0]["flaky"]


def test_what_no_document_has_is_listed_last(columns: tuple[Column, ...]) -> None:
    stranger = replace(columns[0].findings[TAG], rule="x-9/gone")
    table = made(replace(columns[0], findings={"x-9/gone": stranger}))
    assert table.chapters[-1].document is None
    last = as_data(table)["rules"][-1]
    assert (last["rule"], last["document"], last["level"]) == ("x-9/gone", None, None)
    assert as_table(table)[-1][0] == "x-9/gone"


@pytest.mark.parametrize(
    "product", ['=HYPERLINK("//evil")', "+1", "-1", "@SUM(A1)", "\t=1", "a\r\nb", "\ud800"]
)
def test_no_product_makes_a_formula_or_a_line_of_its_own(columns: tuple[Column, ...], product: str) -> None:
    table = made(renamed(columns[0], product=product))
    assert not as_table(table)[0][-1].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert len(as_table(table)) == 1 + len(JUDGED)
    as_csv(table).encode("utf-8")
    "".join(as_json(table)).encode("ascii")
    assert as_data(table)["builds"][0]["product"] == product


def test_the_order_in_which_findings_came_makes_no_difference(columns: tuple[Column, ...]) -> None:
    turned = [replace(each, findings=dict(reversed(list(each.findings.items())))) for each in columns]
    assert "".join(as_json(made(*turned))) == "".join(as_json(made(*columns)))
    assert as_csv(made(*turned)) == as_csv(made(*columns))


def test_detection_is_told_only_where_it_was_run(columns: tuple[Column, ...]) -> None:
    proofs = {EXCLUSIVE: (Proof("a", True, "fail"), Proof("b", False, "pass"))}
    rules = {each["rule"]: each for each in as_data(made(*columns, detection=proofs))["rules"]}
    assert rules[EXCLUSIVE]["detection"] == {"killed": 1, "of": 2}
    assert rules[NOT_FOUND]["detection"] is None
    assert rules[NOT_FOUND]["deviations"] == len(checks().deviations[NOT_FOUND])


def test_a_proof_counts_where_builds_were_judged_in_its_role(columns: tuple[Column, ...]) -> None:
    proofs = {EXCLUSIVE: (Proof("a", True, "fail"), Proof("b", False, "pass", Role.CLIENT))}
    rules = {each["rule"]: each for each in as_data(made(*columns, detection=proofs))["rules"]}
    assert rules[EXCLUSIVE]["detection"] == {"killed": 1, "of": 1}


def test_detection_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "detection.json"
    entries = [
        {"rule": TAG, "deviation": "counts from zero", "role": "server", "killed": True, "verdict": "fail"},
        {"rule": TAG, "deviation": "counts down", "role": "client", "killed": False, "verdict": "pass"},
    ]
    file.write_text(json.dumps(entries))
    assert read_detection(file) == {
        TAG: (Proof("counts from zero", True, "fail"), Proof("counts down", False, "pass", Role.CLIENT))
    }


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}x",
        '[{"rule": "a"}]',
        "[1]",
        '[{"rule":"a","deviation":"b","role":"server","killed":"yes","verdict":"fail"}]',
        '[{"rule":"a","deviation":"b","role":"judge","killed":true,"verdict":"fail"}]',
    ],
)
def test_what_is_no_detection_is_refused_in_a_sentence(tmp_path: Path, content: str) -> None:
    file = tmp_path / "detection.json"
    file.write_text(content)
    with pytest.raises(DetectionError, match=r"detection\.json: not the results of a detection"):
        read_detection(file)


def test_a_detection_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DetectionError, match="cannot be read"):
        read_detection(tmp_path / "nothing.json")


def test_a_matrix_without_builds_still_has_its_rules() -> None:
    data = as_data(made())
    assert len(data["rules"]) == len(catalogue().rules)
    assert all(rule["verdicts"] == [] for rule in data["rules"])


def test_a_build_that_says_nothing_of_itself_goes_by_its_target(columns: tuple[Column, ...]) -> None:
    table = made(replace(columns[0], build=Build("", "", "embedded")))
    assert as_table(table)[0][-1] == "embedded [embedded]"
