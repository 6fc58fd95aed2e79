"""The site as files: whole, the same each time, with the matrix's numbers, and nothing but ours replaced."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Standing
from reports.compare.matrix import Proof
from reports.model.findings import Build, columns_in_order
from reports.site import rules
from reports.site.data import SiteData
from reports.site.names import LONGEST, build_name, rule_name
from reports.site.rendering import render
from reports.site.tests.sites import (
    EXCLUSIVE,
    JUDGED,
    NOT_FOUND,
    TAG,
    Frames,
    contents,
    real_run,
    site_of,
    two_builds,
)
from reports.tests.samples import make_run
from spec.catalogue import catalogue

Page = Any
"""An element of a page, which lxml gives no types to."""
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "../../../etc/passwd",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "lone \ud800 surrogate",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[31m\x00\r\n",
    "very long " * 10_000,
)
ALL_OF_IT = " ".join(HOSTILE[:-1])


def page(site: Path, name: str) -> Page:
    return html.fromstring((site / name).read_text("utf-8").split("\n", 1)[1])


def rule_page(site: Path, identity: str) -> Page:
    return page(site, f"rules/{identity}.html")


def words(element: Page) -> str:
    """Read the text of an element; what stands in cells and paragraphs of their own is kept apart."""
    return " ".join("".join(_read(element)).split())


def _read(element: Page) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        apart = " " if child.tag in _APART else ""
        yield apart
        yield from _read(child)
        yield apart
        yield child.tail or ""


_APART = ("td", "th", "tr", "p", "li", "dt", "dd", "small", "summary", "div", "h1", "h2", "h3")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> SiteData:
    return two_builds(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, data: SiteData) -> Path:
    folder = tmp_path_factory.mktemp("made") / "site"
    render(folder, data)
    return folder


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    run = real_run(folder / "run", "0-9-1/queue.purge*", "0-9-1/domain.*")
    render(folder / "site", site_of([run]))
    return folder / "site"


def test_there_is_a_page_for_every_rule_and_every_build(site: Path, data: SiteData) -> None:
    rules = {
        path.relative_to(site / "rules").with_suffix("").as_posix() for path in site.rglob("rules/**/*.html")
    }
    assert rules == set(JUDGED)
    assert {path.stem for path in (site / "targets").iterdir()} == {
        build_name(each.build) for each in data.columns
    }


def test_what_render_gives_is_what_is_there(tmp_path: Path, data: SiteData) -> None:
    written = render(tmp_path / "site", data)
    assert sorted(path.relative_to(tmp_path / "site").as_posix() for path in written) == sorted(
        contents(tmp_path / "site")
    )


@pytest.mark.parametrize("which", ["site", "real"])
def test_every_link_leads_to_something_of_this_site(which: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(which)
    anchors = {
        path.resolve(): set(html.parse(str(path)).getroot().xpath("//@id")) for path in folder.rglob("*.html")
    }
    followed = 0
    for path in folder.rglob("*.html"):
        for link in page(folder, path.relative_to(folder).as_posix()).xpath("//@href | //@src"):
            target, _, anchor = str(link).partition("#")
            goal = (path.parent / target).resolve() if target else path.resolve()
            assert goal.is_file(), f"{path} leads to {link}"
            assert goal.is_relative_to(folder.resolve())
            assert not anchor or anchor in anchors[goal], f"{path} leads to {link}"
            followed += 1
    assert followed > 1000


def test_every_page_forbids_what_it_does_not_need(site: Path) -> None:
    for path in site.rglob("*.html"):
        tree = page(site, path.relative_to(site).as_posix())
        (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not tree.xpath("//style | //*[@style] | //script[not(@src)] | //@*[starts-with(name(), 'on')]")


def test_no_element_has_the_identity_of_another(site: Path) -> None:
    for path in site.rglob("*.html"):
        counted: Counter[str] = Counter(page(site, path.relative_to(site).as_posix()).xpath("//@id"))
        assert not [name for name, count in counted.items() if count > 1], path


def test_every_table_names_its_rows_and_columns(site: Path) -> None:
    for path in site.rglob("*.html"):
        for table in page(site, path.relative_to(site).as_posix()).xpath("//table"):
            assert not table.xpath(".//th[not(@scope)]")
            assert table.xpath("./thead//th[@scope='col']")
            assert all(row.xpath("./th") for row in table.xpath("./tbody/tr"))


def test_the_same_data_gives_the_same_octets(tmp_path: Path, data: SiteData, site: Path) -> None:
    turned = [replace(each, findings=dict(reversed(list(each.findings.items())))) for each in data.columns]
    render(tmp_path / "again", replace(data, columns=columns_in_order(reversed(turned))))
    assert contents(tmp_path / "again") == contents(site)


def test_the_cells_of_the_matrix_are_those_of_its_json(site: Path) -> None:
    told = json.loads((site / "matrix.json").read_bytes())
    rows = page(site, "matrix.html").xpath("//table[@id='matrix']//tr[@class='rule']")
    shown = {"".join(row.xpath("./th/a")[0].itertext()): row.xpath("./td")[2:] for row in rows}
    assert len(shown) == len(told["rules"])
    for rule in told["rules"]:
        cells = [words(cell) for cell in shown[rule["rule"]]]
        assert cells == [each["verdict"] if each else "no run" for each in rule["verdicts"]]


def test_the_page_of_a_build_has_the_numbers_of_the_json(site: Path, data: SiteData) -> None:
    told = json.loads((site / "matrix.json").read_bytes())
    for build, column in zip(told["builds"], data.columns, strict=True):
        tree = page(site, f"targets/{build_name(column.build)}.html")
        shown: dict[str, str] = dict(
            words(each).split()
            for each in tree.xpath("//ul[@class='divided']/li[not(span[contains(@class,'none')])]")
        )
        assert shown == {word: str(count) for word, count in build["counts"].items() if count}
        scores = [words(each) for each in tree.xpath("//section[@aria-labelledby='scores']//tbody/tr")]
        assert scores == [
            f"{each['level'].upper()} {each['judged'] - each['against']} of {each['judged']}"
            f" {each['against']} {each['standing']}"
            for each in build["scores"]
        ]
        assert column.sentence in words(tree)


def test_a_build_is_shown_with_its_failures_first(site: Path, data: SiteData) -> None:
    tree = page(site, f"targets/{build_name(data.columns[1].build)}.html")
    headings = [words(each) for each in tree.xpath("//h2")]
    assert headings.index("Against certification (2)") < headings.index("Every rule")
    against = tree.xpath("//section[@aria-labelledby='against']//tbody//a")
    assert {words(each) for each in against} == {EXCLUSIVE, NOT_FOUND}


def test_a_build_is_compared_with_the_one_before_it(site: Path, data: SiteData) -> None:
    older, newer = (page(site, f"targets/{build_name(each.build)}.html") for each in data.columns)
    assert [each.build.version for each in data.columns] == ["1.9", "1.10"]
    changes = [words(row) for row in newer.xpath("//section[@aria-labelledby='changes']//tbody/tr")]
    assert len(changes) == 2
    assert changes[0].startswith(f"{EXCLUSIVE} newly failing regression pass fail")
    assert changes[1].startswith(f"{TAG} only in old")
    assert not older.xpath("//section[@aria-labelledby='changes']")
    lines = [
        words(row)
        for row in rule_page(site, EXCLUSIVE).xpath("//section[@aria-labelledby='verdicts']//tbody/tr")
    ]
    assert "was" not in lines[0]
    assert "fail was pass" in lines[1]


def test_a_rule_tells_what_it_asks_and_how_it_is_checked(site: Path) -> None:
    rule, tree = catalogue()[EXCLUSIVE], rule_page(site, EXCLUSIVE)
    text = words(tree)
    for told in (rule.text, rule.scenario, rule.reading, rule.reason, str(rule.place)):
        assert " ".join(told.split()) in text
    assert f"binds the {rule.binds}" in text
    assert words(tree.xpath("//*[@class='badges']/span")[0]) == rule.level.upper()
    assert tree.xpath("//div[@class='check']/p")
    assert tree.xpath("//ul[@class='deviations']/li")


def test_findings_alike_share_one_exchange(site: Path) -> None:
    (details,) = rule_page(site, NOT_FOUND).xpath("//details[contains(@class, 'finding')]")
    assert "The same was found on 2 builds" in words(details)
    assert len(rule_page(site, EXCLUSIVE).xpath("//details[contains(@class, 'finding')]")) == 2


def test_an_exchange_marks_what_decided_and_can_be_taken_along(real: Path) -> None:
    (details,) = rule_page(real, NOT_FOUND).xpath("//details[contains(@class, 'finding')]")
    (deciding,) = details.xpath(".//ol[@class='exchange']/li[contains(@class, 'deciding')]")
    assert "decides" in words(deciding)
    assert "frame-end = 206" in words(deciding)
    assert (
        words(details.xpath(".//p[@class='replay']")[0])
        == f"Play it again: amqp-conformance replay run {NOT_FOUND}"
    )
    (link,) = details.xpath(".//a[@download]/@href")
    capture = (real / "rules" / NOT_FOUND).parent / str(link)
    assert capture.read_bytes().startswith(b"\x0a\x0d\x0d\x0a")


def test_frames_are_asked_for_so_many_at_a_time(
    data: SiteData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "BATCH", 2)
    assert isinstance(data.frames, Frames)
    data.frames.asked.clear()
    render(tmp_path / "few", data)
    assert len(data.frames.asked) >= 2
    assert max(data.frames.asked) <= 2
    assert sum(data.frames.asked) == 4


def test_the_detection_column_says_whether_the_deviations_were_run(data: SiteData, tmp_path: Path) -> None:
    proofs = {EXCLUSIVE: (Proof("locks nothing", True, "fail"), Proof("locks all", False, "pass"))}
    for name, detection, told in (("with", proofs, "1 of 2"), ("without", None, "not run here")):
        render(tmp_path / name, replace(data, detection=detection))
        assert told in words(page(tmp_path / name, "matrix.html").xpath("//table[@id='matrix']")[0])


def test_what_became_of_each_deviation_stands_on_the_page_of_its_rule(data: SiteData, tmp_path: Path) -> None:
    says = data.checks.deviations[EXCLUSIVE][0].says
    render(tmp_path / "site", replace(data, detection={EXCLUSIVE: (Proof(says, False, "pass"),)}))
    first = rule_page(tmp_path / "site", EXCLUSIVE).xpath("//ul[@class='deviations']/li")[0]
    assert words(first) == f"A peer that {says}: not killed (pass)"


def test_a_flaky_rule_is_marked_wherever_it_is_shown(data: SiteData, tmp_path: Path) -> None:
    column = data.columns[0]
    flaky = replace(column.findings[TAG], seen=(Verdict.FAIL, Verdict.PASS), runs=2)
    changed = replace(column, findings={**column.findings, TAG: flaky})
    render(tmp_path / "site", replace(data, columns=[changed]))
    assert (
        words(page(tmp_path / "site", "matrix.html").xpath("//td[contains(@class, 'flaky')]")[0])
        == "pass, flaky"
    )
    assert "2: fail, pass" in words(rule_page(tmp_path / "site", TAG))
    assert "Flaky (1)" in words(page(tmp_path / "site", f"targets/{build_name(column.build)}.html"))


def test_a_rule_of_no_document_has_a_page(data: SiteData, tmp_path: Path) -> None:
    column = data.columns[0]
    stranger = replace(column.findings[TAG], rule="x-9/gone")
    render(tmp_path / "site", replace(data, columns=[replace(column, findings={"x-9/gone": stranger})]))
    assert "stands in no document" in words(page(tmp_path / "site", "rules/x-9/gone.html"))
    assert "In no document" in words(page(tmp_path / "site", "matrix.html"))


def test_a_site_without_runs_says_so(data: SiteData, tmp_path: Path) -> None:
    render(tmp_path / "site", replace(data, columns=[]))
    assert "judged on 0 builds" in words(page(tmp_path / "site", "matrix.html"))
    assert "No run yet." in words(rule_page(tmp_path / "site", TAG))


def test_a_partial_run_is_called_partial(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", verdicts={TAG: Verdict.PASS}, partial=True)
    data = site_of([run])
    render(tmp_path / "site", data)
    tree = page(tmp_path / "site", f"targets/{build_name(data.columns[0].build)}.html")
    assert words(tree.xpath("//div[contains(@class, 'result')]/p")[0]) == Standing.PARTIAL
    assert "1 of them cut short" in words(tree)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_a_peer_said_becomes_markup_or_a_path(tmp_path: Path, text: str) -> None:
    verdicts = {EXCLUSIVE: Verdict.FAIL, TAG: Verdict.WARN}
    hostile = make_run(
        tmp_path / "hostile", product=text, version=text, target=text, said=text, verdicts=verdicts,
        readings=dict.fromkeys(verdicts, text), banner={"product": text},
    )  # fmt: skip
    harmless = make_run(
        tmp_path / "harmless", said="nothing", verdicts=verdicts, readings=dict.fromkeys(verdicts, "one")
    )
    for name, run in (("h", hostile), ("m", harmless)):
        render(tmp_path / name, site_of([run]))
    assert shape(tmp_path / "h") == shape(tmp_path / "m")
    assert not [path for path in tmp_path.iterdir() if path.name not in {"h", "m", "hostile", "harmless"}]


def shape(site: Path) -> dict[str, list[tuple[str, ...]]]:
    """List the elements of each page with the names of their attributes: what no text may change."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        kind = "target" if name.startswith("targets/") else name
        found[kind] = [(str(each.tag), *sorted(map(str, each.attrib))) for each in page(site, name).iter("*")]
    return found


def test_identities_that_could_do_harm_get_names_that_cannot(data: SiteData, tmp_path: Path) -> None:
    column = data.columns[0]
    names = [*HOSTILE, "a/../../b", "/etc/passwd", "con", "a.html/b", "A/b", "a/b", "", ".", "x" * 500]
    findings = {name: replace(column.findings[TAG], rule=name) for name in (TAG, *names)}
    render(tmp_path / "deep" / "site", replace(data, columns=[replace(column, findings=findings)]))
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["site"]
    pages = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("rules/**/*.html")]
    assert len(pages) == len(JUDGED) + len(names)
    assert len({each.casefold() for each in pages}) == len(pages)


def test_builds_that_look_alike_in_a_name_do_not_share_a_page() -> None:
    builds = [
        Build("A b", "1", "t"),
        Build("A-b", "1", "t"),
        Build("a", "b-1", "t"),
        Build("", "", ""),
        Build("é", "", ""),
    ]
    names = [build_name(each) for each in builds]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") for name in names)
    assert all(len(build_name(Build(text, text, text))) < LONGEST + 20 for text in HOSTILE)


def test_a_harmless_identity_is_its_own_path() -> None:
    assert all(rule_name(rule.id) == rule.id for rule in catalogue().rules)


def test_coverage_has_the_numbers_of_the_catalogue(site: Path) -> None:
    told = words(page(site, "coverage.html").xpath("//ul[@class='figures']")[0])
    assert f"{len(JUDGED)} rules" in told
    without = page(site, "coverage.html").xpath(
        "//h3[starts-with(., 'Rules without')]/following-sibling::div[1]//tbody/tr"
    )
    assert all(words(row.xpath("./td")[-1]) for row in without)
