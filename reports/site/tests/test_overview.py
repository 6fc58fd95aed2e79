"""The first page, and those of comparisons and audits: the numbers of the data, nothing a peer made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from conformance.evidence.verdicts import Verdict
from reports.compare.comparison import Kind, compare
from reports.model.findings import Column
from reports.site import overview
from reports.site.alone import audit_page, comparison_page
from reports.site.data import SiteData
from reports.site.findings import Lineage
from reports.site.names import build_name
from reports.site.rendering import render
from reports.site.tests.sites import EXCLUSIVE, NOT_FOUND, TAG, audited, site_of, two_builds
from reports.site.tests.test_site import HOSTILE, page, words
from reports.tests.samples import make_run
from spec.rules import Role

GOOD = {TAG: Verdict.PASS}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> SiteData:
    return two_builds(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, data: SiteData) -> Path:
    folder = tmp_path_factory.mktemp("made") / "site"
    render(folder, data)
    return folder


def alone(text: str) -> Any:
    return html.fromstring(text.split("\n", 1)[1])


def cards(site: Path) -> list[Any]:
    found: list[Any] = page(site, "index.html").xpath("//article")
    return found


def test_the_newest_build_of_a_lineage_has_a_card_with_its_standing_and_what_blocks_it(
    site: Path, data: SiteData
) -> None:
    newest = data.columns[1]
    (card,) = cards(site)
    assert words(card.xpath("./h2")[0]) == "Peer 1.10"
    assert newest.sentence in words(card)
    assert words(card.xpath(".//span[contains(@class, 'standing')]")[0]) == newest.standing
    named = [words(each) for each in card.xpath("./ul[@class='named'][1]/li")]
    assert [each.split()[:2] for each in named] == [["fail", NOT_FOUND], ["fail", EXCLUSIVE]]


def test_the_bars_of_a_card_have_the_numbers_of_the_json(site: Path) -> None:
    told = json.loads((site / "matrix.json").read_bytes())
    expected = []
    for level in ("must", "should", "may"):
        found = [each["verdicts"][1] for each in told["rules"] if each["level"] == level]
        verdicts = [Verdict(each["verdict"]) for each in found if each]
        if verdicts:
            against = sum(each.blocks for each in verdicts)
            expected.append(f"{level.upper()} {len(verdicts) - against} of {len(verdicts)}")
    (card,) = cards(site)
    assert [words(each) for each in card.xpath(".//div[@class='level-bar']")] == [
        each.replace(" ", "", 1) for each in expected
    ]


def test_a_card_tells_what_changed_and_how_it_went_over_builds(site: Path) -> None:
    (card,) = cards(site)
    text = words(card)
    assert "Changed since Peer 1.9 1 regression; rules changed: 2, unchanged: 1" in text
    assert "newly failing 1" in text
    trend = [words(each) for each in card.xpath(".//table[@class='trend']/tbody/tr")]
    assert trend == ["1.10 2 not certified", "1.9 1 not certified"]


def test_versions_of_one_product_are_builds_one_after_another_wherever_they_were_reached(
    tmp_path: Path,
) -> None:
    """A build that nothing newer came after has a card; one on the same target is before any other."""
    reached = [("1.0", "x"), ("1.1", "y"), ("1.2", "x"), ("1.2", "z"), ("2.0", "x")]
    runs = [
        make_run(tmp_path / f"{number}", run=f"r{number}", version=version, target=target, verdicts=GOOD)
        for number, (version, target) in enumerate(reached)
    ]
    columns = {(each.build.version, each.build.target): each for each in site_of(runs).columns}
    lineage = Lineage(list(columns.values()))
    found = {
        name: [(each.build.version, each.build.target) for each in lineage.of(column)]
        for name, column in columns.items()
    }
    assert found[("2.0", "x")] == [("2.0", "x"), ("1.2", "x"), ("1.0", "x")]
    assert found[("1.2", "z")] == [("1.2", "z"), ("1.1", "y"), ("1.0", "x")]
    assert [each.build.version for each in lineage.newest] == ["1.2", "2.0"]
    assert lineage.around(columns["1.1", "y"])[0] is columns["1.2", "z"]


def test_a_build_without_a_version_follows_none_and_clients_no_server(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / "a", run="r1", version="", target="x", verdicts=GOOD),
        make_run(tmp_path / "b", run="r2", version="2.0", target="y", verdicts=GOOD),
    ]
    found = site_of(runs).columns
    assert len(Lineage(found).newest) == 2
    client = replace(found[0], build=replace(found[1].build, version="3.0", role=Role.CLIENT))
    assert len(Lineage([*found, client]).newest) == 3


def test_what_changed_since_a_build_on_another_target_says_which(tmp_path: Path) -> None:
    old = make_run(tmp_path / "a", run="r1", version="1", target="image:1", verdicts=GOOD)
    new = make_run(tmp_path / "b", run="r2", version="2", target="image:2", verdicts={TAG: Verdict.FAIL})
    render(tmp_path / "site", site_of([old, new]))
    (card,) = cards(tmp_path / "site")
    assert "Changed since Peer 1 on image:1" in words(card)
    assert [words(each) for each in card.xpath(".//table[@class='trend']/tbody/tr")] == [
        "2 1 not certified",
        "1 image:1 0 certified",
    ]


def test_a_first_build_has_no_trend_and_a_good_one_nothing_against_it(tmp_path: Path) -> None:
    render(tmp_path / "site", site_of([make_run(tmp_path / "run", verdicts={TAG: Verdict.PASS})]))
    (card,) = cards(tmp_path / "site")
    assert "Against certification, at any level (0) Nothing." in words(card)
    assert not card.xpath(".//table")
    assert not (tmp_path / "site" / "compare").exists()


def test_a_card_names_a_few_and_leads_to_all(
    data: SiteData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "FEW", 1)
    render(tmp_path / "site", data)
    (card,) = cards(tmp_path / "site")
    assert len(card.xpath("./ul[@class='named'][1]/li")) == 1
    assert words(card.xpath("./p[a='All 2']")[0]) == "All 2"


def test_the_page_of_a_comparison_has_every_change(site: Path, data: SiteData) -> None:
    found = compare(*data.columns)
    for tree in (
        page(site, f"compare/{build_name(data.columns[1].build)}.html"),
        alone(comparison_page(found)),
    ):
        assert found.sentence in words(tree)
        headings = [words(each) for each in tree.xpath("//h2")]
        assert headings == [f"{kind.capitalize()} (1)" for kind in (Kind.NEWLY_FAILING, Kind.ONLY_OLD)]
        rows = [words(each) for each in tree.xpath("//table[contains(@class, 'changes')]/tbody/tr")]
        assert rows[0].startswith(f"{EXCLUSIVE} MUST pass fail")
        assert rows[1] == f"{TAG} MUST pass none"


def test_a_comparison_without_a_change_says_so(data: SiteData) -> None:
    assert "Nothing changed." in words(alone(comparison_page(compare(data.columns[0], data.columns[0]))))


def test_the_page_of_an_audit_has_every_claim_with_legal_and_came(data: SiteData, tmp_path: Path) -> None:
    told = audited(data.columns, "kept")
    render(tmp_path / "site", replace(data, audit=told))
    for tree in (page(tmp_path / "site", "audit.html"), alone(audit_page(told))):
        text = words(tree)
        assert told.sentence in text
        assert [words(each) for each in tree.xpath("//h2")] == [
            "Contradicted (1)",
            "Version-dependent (1)",
            "Confirmed (1)",
        ]
        for claim in told.claims.claims:
            assert claim.name in text
        came = tree.xpath("//div[starts-with(@class, 'actual')]/p")
        assert len(came) == 3  # one rule on both builds, the other on one
    assert "Audit" in words(page(tmp_path / "site", "index.html").xpath("//nav")[0])


def shape(tree: Any) -> list[tuple[str, ...]]:
    """List the elements with the names of their attributes: what no text may change."""
    return [(str(each.tag), *sorted(map(str, each.attrib))) for each in tree.iter("*") if each.tag != "wbr"]


def hostile(parent: Path, text: str) -> list[Column]:
    """Make two builds of a product that says `text` of everything."""
    verdicts = {EXCLUSIVE: Verdict.FAIL, NOT_FOUND: Verdict.FAIL, TAG: Verdict.WARN}
    names: dict[str, Any] = {"product": text, "target": text, "said": text}
    names["readings"] = dict.fromkeys(verdicts, text)
    better = dict.fromkeys(verdicts, Verdict.PASS)
    runs = [
        make_run(parent / "old", run="r1", version=f"1{text}", verdicts=better, **names),
        make_run(parent / "new", run="r2", version=f"2{text}", verdicts=verdicts, **names),
    ]
    return list(site_of(runs).columns)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_a_peer_or_a_vendor_said_becomes_markup(tmp_path: Path, text: str) -> None:
    pages: list[tuple[str, str]] = []
    for said in (text, "x"):
        columns = hostile(tmp_path / str(len(pages)), said)
        pages.append((comparison_page(compare(*columns)), audit_page(audited(columns, said))))
    for told, harmless in zip(*pages, strict=True):
        assert shape(alone(told)) == shape(alone(harmless))
        assert not alone(told).xpath("//@src | //link | //script | //@href[not(starts-with(., '#'))]")
