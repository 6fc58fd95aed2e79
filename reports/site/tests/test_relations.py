"""The page of a rule shows what the other documents say about the same thing, and leads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.evidence.verdicts import Verdict
from reports.site.relations import FEW, pieces, relatives
from reports.site.rendering import DENSE, render
from reports.site.tests.sites import site_of
from reports.site.tests.test_site import Page, page, rule_page, words
from reports.tests.samples import make_run
from spec.catalogue import catalogue

PROSE, GRAMMAR = "0-9-1/prose/4.2.6.body-beyond-size", "0-9-1/grammar/basic.publish.content-body-overlong"
XML, OF_XML = "0-9-1/queue.unbind.01", "0-9-1/queue.unbind.queue.must-exist"
MANY = "0-9-1/prose/4.10.1.invalid-data-closes"
VERDICTS = {PROSE: Verdict.PASS, GRAMMAR: Verdict.FAIL, XML: Verdict.WARN, OF_XML: Verdict.PASS}
PATH = "//section[@aria-labelledby='related']"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("related")
    render(folder / "site", site_of([make_run(folder / "run", verdicts=VERDICTS)]))
    return folder / "site"


def related_to(tree: Page, identity: str) -> Page:
    """Find the row of a related rule on a page, which leads to it."""
    (row,) = (
        each for each in tree.xpath(f"{PATH}//tbody/tr[th/a]") if words(each.xpath("./th")[0]) == identity
    )
    return row


def test_a_sentence_and_the_grammar_lead_to_each_other_with_their_verdicts(site: Path) -> None:
    for one, other in ((PROSE, GRAMMAR), (GRAMMAR, PROSE)):
        row = related_to(rule_page(site, one), other)
        (link,) = row.xpath("./th/a/@href")
        assert (site / "rules" / one).parent.joinpath(str(link)).resolve() == (
            site / "rules" / f"{other}.html"
        ).resolve()
        assert [words(cell) for cell in row.xpath("./td")] == [
            "MUST",
            catalogue()[other].gist,
            VERDICTS[other],
        ]


def test_rules_that_contradict_each_other_lead_to_each_other(site: Path) -> None:
    for one, other in ((XML, OF_XML), (OF_XML, XML)):
        assert other in [words(each) for each in rule_page(site, one).xpath(f"{PATH}//tbody/tr/th")]


def test_a_reading_leads_to_the_rules_it_names(site: Path) -> None:
    (reading,) = rule_page(site, OF_XML).xpath("//dt[text()='Reading']/following-sibling::dd[1]")
    assert words(reading) == catalogue()[OF_XML].reading
    assert [words(each) for each in reading.xpath("./a")] == [XML]


def test_a_fault_leads_to_the_other_rules_it_breaks(tmp_path: Path) -> None:
    pair = ("0-9-1/connection.tune-ok.frame-max.minimum", "0-9-1/prose/2.3.3.reduced-limits-borne")
    run = make_run(tmp_path / "run", verdicts=dict.fromkeys(pair, Verdict.FAIL))
    render(tmp_path / "site", site_of([run]))
    for one, other in (pair, pair[::-1]):
        (told,) = rule_page(tmp_path / "site", one).xpath("//dt[text()='One fault']/following-sibling::dd[1]")
        assert words(told) == " ".join(catalogue()[one].one_fault)
        assert [words(each) for each in told.xpath("./a")] == [other]


def test_every_contradiction_read_is_told_on_its_page(site: Path) -> None:
    for rule in catalogue().rules:
        if rule.reading and rule.document.startswith("0-9-1"):
            assert " ".join(rule.reading.split()) in words(rule_page(site, rule.id)), rule.id


def test_many_related_rules_wait_to_be_opened(site: Path) -> None:
    (folded,) = rule_page(site, MANY).xpath(f"{PATH}//details[not(@open)]")
    rows = folded.xpath(".//tbody/tr")
    assert len(rows) > FEW
    assert words(folded.xpath("./summary/span")[0]) == str(len(rows))


def test_a_rule_that_no_run_was_about_is_named_without_a_link(tmp_path: Path) -> None:
    render(tmp_path / "site", site_of([make_run(tmp_path / "run", verdicts={OF_XML: Verdict.PASS})]))
    rows = rule_page(tmp_path / "site", OF_XML).xpath(f"{PATH}//tbody/tr")
    without = [row for row in rows if not row.xpath("./th/a")]
    assert without
    assert all(words(row.xpath("./td")[-1]) == "no run" for row in without)
    assert not (tmp_path / "site" / "rules" / "0-9-1" / "grammar").exists()


def test_of_many_builds_the_verdicts_are_counted(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / str(n), run=f"r{n}", version=f"1.{n}", verdicts={**VERDICTS, PROSE: verdict})
        for n, verdict in enumerate([Verdict.FAIL] + [Verdict.PASS] * DENSE)
    ]
    render(tmp_path / "site", site_of(runs))
    row = related_to(rule_page(tmp_path / "site", GRAMMAR), PROSE)
    assert words(row.xpath("./td")[-1]) == f"fail 1, pass {DENSE}"


def test_a_site_without_columns_shows_what_is_related(tmp_path: Path) -> None:
    render(tmp_path / "site", site_of([]))
    (row,) = page(tmp_path / "site", f"rules/{PROSE}.html").xpath(f"{PATH}//tbody/tr")
    assert len(row.xpath("./td")) == 2


def test_relatives_are_those_of_the_catalogue() -> None:
    found = relatives(catalogue()[PROSE], catalogue(), (), ())
    assert [each.document.prefix for each in found] == ["0-9-1/grammar"]
    assert [(each.rule.id, each.page, each.counts) for each in found[0].rules] == [(GRAMMAR, False, [])]


def test_a_text_is_cut_at_the_longest_identity() -> None:
    assert list(pieces("as a/b.c and a/b say.", ["a/b", "a/b.c"])) == [
        ("as ", False), ("a/b.c", True), (" and ", False), ("a/b", True), (" say.", False),
    ]  # fmt: skip
    assert list(pieces("a/b", ())) == [("a/b", False)]


def test_a_rule_without_a_reading_has_no_heading_for_one() -> None:
    assert list(pieces("", ())) == []
    assert list(pieces("", ("0-9-1/a.b",))) == []
