"""Pages on a phone, on paper, and with very much on them, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.evidence.verdicts import Verdict
from conformance.render.html.single import page as run_page
from conformance.render.rendering import load
from conformance.tests.endurance import WHOLE
from reports.compare.comparison import compare
from reports.model.findings import Column
from reports.site.alone import audit_page, comparison_page
from reports.site.names import build_name
from reports.site.rendering import DENSE, render
from reports.site.tests.browsing import opened
from reports.site.tests.sites import EXCLUSIVE, NOT_FOUND, TAG, audited, real_run, site_of, two_builds
from reports.tests.samples import make_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 800}}
MANY = 10_000 if WHOLE else 2_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    render(folder / "site", two_builds(folder))
    return folder / "site"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Column]:
    """A site of one build against which thousands of rules stand that no document has."""
    folder = tmp_path_factory.mktemp("crowded")
    verdicts = {EXCLUSIVE: Verdict.FAIL} | {f"x-1/rule.{number}": Verdict.FAIL for number in range(MANY)}
    data = site_of([make_run(folder / "run", verdicts=verdicts, frames=0)])
    render(folder / "site", data)
    return folder / "site", data.columns[0]


def test_on_a_phone_a_rule_is_a_card_that_says_whose_each_verdict_is(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html", **PHONE) as (page, seen):
        card = page.locator("tr.rule", has_text=EXCLUSIVE.partition("/")[2]).first
        cells = card.locator("td[data-of]")
        names = cells.evaluate_all("all => all.map(each => getComputedStyle(each, '::after').content)")
        assert list(zip(names, cells.all_text_contents(), strict=True)) == [
            ('"Peer 1.9"', "pass"),
            ('"Peer 1.10"', "fail"),
        ]
        widest = "all => Math.max(...all.map(each => each.getBoundingClientRect().right))"
        assert page.locator("tr.rule > *").evaluate_all(widest) <= 390
        page.get_by_label("Verdict").select_option("fail")
        assert page.locator("tr.rule:visible").count() == 2
        assert seen.wrong == []


def test_of_many_builds_the_matrix_scrolls_in_its_own_region_and_its_head_stays(
    browser: Browser, tmp_path: Path
) -> None:
    runs = [
        make_run(tmp_path / f"run-{each}", run=f"r{each}", version=f"1.{each}", verdicts={TAG: Verdict.PASS})
        for each in range(DENSE + 1)
    ]
    render(tmp_path / "site", site_of(runs))
    with opened(browser, tmp_path / "site" / "matrix.html", **PHONE) as (page, _):
        region = page.locator(".matrix")
        region.evaluate("region => region.scrollTo(150, 2000)")
        assert region.evaluate("region => region.scrollTop > 0 && region.scrollLeft > 0")
        box, head = region.bounding_box(), page.locator("#matrix thead").bounding_box()
        first = page.locator("tr.rule th").nth(60).bounding_box()
        assert box is not None
        assert head is not None
        assert first is not None
        assert abs(head["y"] - box["y"]) <= 2
        assert abs(first["x"] - box["x"]) <= 2


def test_on_paper_pages_are_light_and_nothing_is_cut_off(browser: Browser, site: Path) -> None:
    for name in ("index.html", "matrix.html", f"rules/{EXCLUSIVE}.html"):
        with opened(browser, site / name, color_scheme="dark") as (page, _):
            page.emulate_media(media="print", color_scheme="dark")
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            assert not page.locator("nav, form, #theme").filter(visible=True).count()
            cut = "all => all.some(each => each.scrollHeight > each.clientHeight + 1)"
            assert page.locator(".scroll").evaluate_all(cut) is False


def test_on_narrow_paper_the_scores_above_the_matrix_are_whole(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html", viewport={"width": 480, "height": 700}) as (page, _):
        page.emulate_media(media="print")
        page.locator("#matrix thead .score").evaluate_all(
            "all => all.forEach(each => each.append(' of 1000000'))"
        )
        cut = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"
        assert page.locator("#matrix thead th:has(.score)").evaluate_all(cut) == []


def test_paper_has_the_layout_of_a_desk(browser: Browser, tmp_path: Path) -> None:
    """A sheet is narrower than the width below which a page is that of a phone."""
    file = tmp_path / "run.html"
    file.write_text(run_page(load(real_run(tmp_path / "run", NOT_FOUND))), encoding="utf-8")
    with opened(browser, file, viewport={"width": 560, "height": 700}) as (page, _):
        page.emulate_media(media="print")
        place = "each => getComputedStyle(each).position"
        assert page.locator(".list.stack thead").evaluate(place) == "static"
        assert not page.locator("nav.jump").is_visible()


@pytest.mark.endurance
def test_thousands_of_findings_stay_usable(browser: Browser, crowded: tuple[Path, Column]) -> None:
    site, column = crowded
    with opened(browser, site / "index.html") as (page, seen):
        assert page.get_by_text(f"All {MANY + 1:d}").is_visible()
        assert page.locator(".named li").count() < 10
        page.get_by_text(f"All {MANY + 1:d}").click()
        page.wait_for_url("**/targets/**")
        assert page.locator("#against ~ .scroll tbody tr").count() == MANY + 1
        assert seen.wrong == []
    with opened(browser, site / "matrix.html") as (page, seen):
        page.get_by_label("Text").fill(f"rule.{MANY - 1}")
        assert page.locator("tr.rule:visible").count() == 1
        assert seen.wrong == []
    with opened(browser, site / "targets" / f"{build_name(column.build)}.html", **PHONE) as (page, seen):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.wrong == []


def test_pages_that_stand_alone_ask_for_nothing_else(browser: Browser, tmp_path: Path) -> None:
    run = real_run(tmp_path / "run", NOT_FOUND)
    old, new = two_builds(tmp_path / "two").columns
    texts = {
        "run": run_page(load(run)),
        "compare": comparison_page(compare(old, new)),
        "audit": audit_page(audited([old, new], "kept")),
    }
    for name, text in texts.items():
        file = tmp_path / f"{name}.html"
        file.write_text(text, encoding="utf-8")
        for media in ({"color_scheme": "light"}, {"color_scheme": "dark"}, PHONE):
            with opened(browser, file, **media) as (page, seen):
                assert page.locator("h1").is_visible()
                assert page.evaluate("document.styleSheets.length") == 1
                assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]
                assert seen.asked == [file.as_uri()], name
                assert seen.wrong == [], name
