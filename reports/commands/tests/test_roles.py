"""Judged as a client and judged as a server: columns of their own, wherever they meet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lxml import html

from conformance.engine.captured import judge_capture
from conformance.engine.controller import judge_here
from conformance.engine.options import Options
from conformance.evidence.folder import RUN_FILE
from conformance.evidence.kinds import EvidenceError
from conformance.evidence.verdicts import Verdict
from reports.commands.cli import main
from reports.compare.comparison import compare
from reports.compare.coverage import coverage, ledgers
from reports.model.findings import Column
from reports.model.single import column_of
from reports.site.folders import site_of
from reports.site.names import build_name
from reports.site.rendering import render
from reports.tests.samples import make_run
from scenarios.registry import checks
from spec.catalogue import catalogue
from spec.rules import Role

HEADER = "0-9-1/prose/4.2.2.header-begins-connection"
Page = Any
"""An element of a page, which lxml gives no types to."""
OF_BOTH = "0-9-1/prose/2.3.7.close-answered"
OF_SERVERS = "0-9-1/queue.purge.02"
RULES = (HEADER, OF_BOTH, OF_SERVERS)
TARGETS = {"client:own": Role.CLIENT, "embedded": Role.SERVER}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Judge our client and our server by the same rules; gives the folders, that of the client first."""
    parent = tmp_path_factory.mktemp("runs")
    folders = [parent / target.replace(":", "-") for target in TARGETS]
    for folder, target in zip(folders, TARGETS, strict=True):
        judge_here(Options(target=target, selectors=RULES, output=str(folder)))
    return folders


@pytest.fixture(scope="module")
def site(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("site") / "site"
    render(output, site_of(runs))
    return output


def page(file: Path) -> Page:
    return html.fromstring(file.read_text("utf-8").split("\n", 1)[1])


def of_roles(columns: Sequence[Column]) -> None:
    """Demand a column of each role, the server's first, with what was found in that role."""
    server, client = columns
    assert [each.build.role for each in columns] == [Role.SERVER, Role.CLIENT]
    assert [each.build.target for each in columns] == ["embedded", "client:own"]
    assert not server.build.name.endswith("(client)")
    assert client.build.name.endswith(" (client)")
    assert client.findings[HEADER].verdict is client.findings[OF_BOTH].verdict is Verdict.PASS
    assert server.findings[OF_SERVERS].verdict is server.findings[OF_BOTH].verdict is Verdict.PASS
    assert client.findings[OF_SERVERS].verdict is Verdict.UNTESTABLE
    assert server.findings[HEADER].verdict is Verdict.UNTESTABLE
    assert all(each.scores for each in columns)


def test_folders_are_columns_of_their_roles(runs: list[Path]) -> None:
    of_roles(site_of(runs).columns)


def test_a_site_has_a_column_and_a_page_of_each_role(runs: list[Path], site: Path) -> None:
    told = json.loads((site / "matrix.json").read_bytes())
    assert [each["role"] for each in told["builds"]] == ["server", "client"]
    heading = (site / "matrix.csv").read_text("utf-8").splitlines()[0]
    assert heading.endswith(" (client) [client:own]")
    assert heading.count("(client)") == 1
    headings = page(site / "matrix.html").xpath("//th[@data-build]//a")
    assert ["(client)" in each.text_content() for each in headings] == [False, True]
    pages = [f"targets/{build_name(each.build)}.html" for each in site_of(runs).columns]
    titles = [page(site / each).findtext(".//h1") or "" for each in pages]
    assert [each.endswith("(client)") for each in titles] == [False, True]


def test_the_page_of_a_rule_shows_each_role_by_itself(runs: list[Path], site: Path) -> None:
    shown = page(site / f"rules/{OF_BOTH}.html")
    assert len(shown.xpath("//details[contains(@class, 'finding')]")) == 2
    assert "client_answers_close (client)" in shown.xpath("//h3/code/text()")
    told = [each.text_content() for each in shown.xpath("//ul[@class='deviations']/li")]
    ours = checks()
    numbers = len(ours.deviations[OF_BOTH]), len(ours.of_clients[OF_BOTH])
    assert (
        tuple(sum(each.startswith(f"A {who} that") for each in told) for who in ("peer", "client")) == numbers
    )
    alone = site.with_name("alone")
    render(alone, site_of(runs[1:]))
    assert b"client_answers_close" not in (alone / f"rules/{OF_BOTH}.html").read_bytes()


def test_a_capture_on_a_page_runs_the_way_the_exchange_did(site: Path) -> None:
    captures = sorted((site / f"captures/{OF_BOTH}-1.pcapng").parent.glob("*close-answered-*.pcapng"))
    assert len(captures) == 2
    for path in captures:
        for role in Role:
            found = [each.verdict for each in judge_capture(path, role) if each.rule == HEADER]
            assert found == ([Verdict.PASS] if role is Role.CLIENT else [])


def test_a_product_judged_in_two_roles_has_two_histories(tmp_path: Path) -> None:
    builds = [("1.0", Role.SERVER), ("1.5", Role.CLIENT), ("2.0", Role.SERVER)]
    folders = [
        make_run(tmp_path / f"{number}", run=f"r{number}", version=version, role=role)
        for number, (version, role) in enumerate(builds)
    ]
    data = site_of(folders)
    assert [each.build.version for each in data.columns] == ["1.0", "2.0", "1.5"]
    render(tmp_path / "site", data)
    for column, others in zip(data.columns, (1, 1, 0), strict=True):
        shown = page(tmp_path / "site" / f"targets/{build_name(column.build)}.html")
        assert len(shown.xpath("//section[@aria-labelledby='history']//tbody/tr")) == (others and others + 1)
    server = data.columns[0].build
    assert len({build_name(server), build_name(data.columns[2].build)}) == 2


def test_a_client_and_a_server_are_not_compared(runs: list[Path]) -> None:
    client, server = map(column_of, runs)
    with pytest.raises(EvidenceError, match=r"\(client\), judged as client, and .* cannot be compared"):
        compare(client, server)
    assert compare(client, client).changes == ()
    done = CliRunner().invoke(main, ["compare", *map(str, runs)])
    assert done.exit_code == 2
    assert "judged as server, cannot be compared" in done.output


def test_coverage_counts_the_checks_of_both() -> None:
    ours = [each for found in coverage(ledgers(), catalogue(), checks()) for each in found.rules]
    of_clients = {each.rule.id for each in ours if each.of_clients}
    assert {HEADER, OF_BOTH} <= of_clients == set(checks().of_clients)
    counted = {each.rule.id: (bool(each.checks), each.deviations) for each in ours}
    assert counted[HEADER] == (False, len(checks().of_clients[HEADER]))
    assert counted[OF_BOTH] == (True, len(checks().deviations[OF_BOTH]) + len(checks().of_clients[OF_BOTH]))


def test_a_run_from_before_there_were_roles_judged_a_server(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    described = json.loads((folder / RUN_FILE).read_bytes())
    assert described.pop("role") == "server"
    (folder / RUN_FILE).write_text(json.dumps(described))
    assert column_of(folder).build.role is Role.SERVER
