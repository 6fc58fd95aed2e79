"""The site in a real browser: nothing a peer said runs, nothing is asked of anybody, and it can be used.

Skipped without Chromium and playwright; where brokers are required, their absence is a failure.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.evidence.verdicts import Verdict
from reports.compare.matrix import Proof
from reports.site.names import build_name
from reports.site.rendering import render
from reports.site.tests.browsing import opened
from reports.site.tests.sites import EXCLUSIVE, NOT_FOUND, TAG, audited, real_run, site_of, two_builds
from reports.tests.samples import make_run
from spec.rules import Role

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EVERY_ATTRIBUTE = "[...document.querySelectorAll('*')].flatMap(each => [...each.attributes])"
HOSTILE = (
    "</script><script>alert(1)</script><img src=//example.test/x onerror=alert(1)>"
    "\" onmouseover=\"alert(1)' autofocus onfocus='alert(1) <svg/onload=alert(1)> "
    "javascript:alert(1) ../../../x {{ 7*7 }} \u202e\u2066 \ud800 \x1b]8;; \x00 "
    "<iframe src=//example.test></iframe><base href=//example.test><style>*{display:none}</style>"
    "<meta http-equiv=refresh content=0;url=//example.test> <a href=javascript:alert(1)>x</a>"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    render(folder / "site", two_builds(folder))
    return folder / "site"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    verdicts = {EXCLUSIVE: Verdict.FAIL, TAG: Verdict.WARN, HOSTILE: Verdict.FAIL}
    names: dict[str, Any] = {
        "product": HOSTILE,
        "version": HOSTILE,
        "target": HOSTILE,
        "suite": HOSTILE,
        "profile": HOSTILE,
    }
    document = {"prefix": HOSTILE, "title": HOSTILE, "revision": HOSTILE, "sha256": HOSTILE}
    run = make_run(
        folder / "run", verdicts=verdicts, said=HOSTILE, readings=dict.fromkeys(verdicts, HOSTILE),
        banner={"product": HOSTILE}, documents=(document,), **names,
    )  # fmt: skip
    before = make_run(
        folder / "before", run=f"0{HOSTILE}", verdicts=dict.fromkeys(verdicts, Verdict.PASS), said=HOSTILE,
        **names | {"version": f"0{HOSTILE}"},
    )  # fmt: skip
    proofs = {EXCLUSIVE: (Proof(HOSTILE, False, HOSTILE),)}
    data = site_of([before, run], proofs)
    render(folder / "site", replace(data, audit=audited(data.columns, HOSTILE)))
    return folder / "site"


def pages(site: Path) -> list[Path]:
    rules = [site / "rules" / f"{identity}.html" for identity in (EXCLUSIVE, TAG)]
    strangers = [path for path in sorted(site.rglob("rules/**/*.html")) if "0-9-1" not in path.parts]
    return [
        site / "index.html",
        site / "matrix.html",
        site / "coverage.html",
        *rules,
        *strangers,
        *sorted((site / "targets").iterdir()),
        *sorted(site.glob("compare/*")),
        *sorted(site.glob("audit.html")),
    ]


def shown(page: Page, selector: str) -> list[str]:
    """Read the texts of what is visible, as the document has them: rows that come into view paint later."""
    return [" ".join(text.split()) for text in page.locator(f"{selector}:visible").all_text_contents()]


def shown_rules(page: Page) -> list[str]:
    return shown(page, "tr.rule th a")


def test_nothing_a_peer_said_does_anything(browser: Browser, hostile: Path) -> None:
    assert len(pages(hostile)) == 10
    for path in pages(hostile):
        with opened(browser, path) as (page, seen):
            for details in page.locator("details:not([open]) > summary").all():
                if details.is_visible():
                    details.click()
            page.mouse.move(300, 300)
            page.keyboard.press("Tab")
            assert page.locator("img, iframe, base, object, embed, style, a[href^=javascript]").count() == 0
            assert page.locator("script").count() == 1
            assert page.evaluate(f"{EVERY_ATTRIBUTE}.some(each => each.name.startsWith('on'))") is False
            assert page.locator("h1").is_visible()
            assert seen.wrong == [], path
            assert len(seen.asked) == 3, path
            assert all(url.startswith(f"{hostile.as_uri()}/") for url in seen.asked), path
            assert page.url == path.as_uri()


def test_what_a_peer_said_is_shown_letter_by_letter(browser: Browser, hostile: Path) -> None:
    with opened(browser, hostile / "rules" / f"{EXCLUSIVE}.html") as (page, _):
        text = page.locator("main").inner_text()
    assert "</script><script>alert(1)</script>" in text
    assert "{{ 7*7 }} \\u202e\\u2066 \\ud800 \\x1b]8;; \\x00" in text


def test_every_page_is_quiet_in_both_themes_and_no_wider_than_a_phone(browser: Browser, site: Path) -> None:
    for theme in ("light", "dark"):
        for path in pages(site):
            size = {"width": 390, "height": 800}
            with opened(browser, path, color_scheme=theme, viewport=size) as (page, seen):
                assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
                assert seen.wrong == [], path


def test_a_hostile_name_does_not_widen_a_phone(browser: Browser, hostile: Path) -> None:
    for path in pages(hostile):
        with opened(browser, path, viewport={"width": 390, "height": 800}) as (page, _):
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_the_filter_shows_what_was_asked_for(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html") as (page, seen):
        every = shown_rules(page)
        page.get_by_label("Verdict").select_option("fail")
        assert shown_rules(page) == [EXCLUSIVE, NOT_FOUND]
        assert page.locator("output").inner_text() == f"2 of {len(every)} rules"
        page.get_by_label("builds differ").check()
        assert shown_rules(page) == [EXCLUSIVE]
        page.get_by_role("button", name="Clear").click()
        assert shown_rules(page) == every
        page.get_by_label("Text").fill("PURGE empty")
        assert NOT_FOUND not in shown_rules(page)
        page.get_by_label("Text").fill("queue.purge")
        assert NOT_FOUND in shown_rules(page)
        assert shown(page, "tr.group") == ["class queue"]
        assert shown(page, "tr.section") == ["queue.purge"]
        page.get_by_label("Text").fill("no such rule")
        assert page.get_by_text("No rule is like that.").is_visible()
        assert seen.wrong == []


def test_a_client_does_not_differ_from_a_server(browser: Browser, tmp_path: Path) -> None:
    judged = {EXCLUSIVE: Verdict.FAIL, NOT_FOUND: Verdict.PASS, TAG: Verdict.PASS}
    other = judged | {TAG: Verdict.FAIL}
    client: dict[str, Any] = {
        "target": "client:x",
        "role": Role.CLIENT,
        "verdicts": {EXCLUSIVE: Verdict.PASS},
    }
    runs = [
        make_run(tmp_path / "one", run="r1", version="1", verdicts=judged),
        make_run(tmp_path / "two", run="r2", version="2", verdicts=other),
        make_run(tmp_path / "three", run="r3", product="Client", **client),
    ]
    render(tmp_path / "site", site_of(runs))
    with opened(browser, tmp_path / "site" / "matrix.html") as (page, _):
        page.get_by_label("builds differ").check()
        assert shown_rules(page) == [TAG]


def test_the_filter_knows_the_builds_apart(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html") as (page, _):
        page.get_by_label("Verdict").select_option("against certification")
        page.locator("select[name=build]").select_option(index=1)
        assert shown_rules(page) == [NOT_FOUND]
        page.locator("select[name=build]").select_option(index=2)
        assert shown_rules(page) == [EXCLUSIVE, NOT_FOUND]


def test_a_level_can_be_filtered_and_the_address_remembers_it(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html") as (page, seen):
        page.get_by_label("Level").select_option("may")
        found = shown_rules(page)
        assert 0 < len(found) < 30
        page.reload()
        assert shown_rules(page) == found
        page.goto(f"{(site / 'matrix.html').as_uri()}#text=<img src=x onerror=alert(1)>&shown=x&nothing=1")
        page.reload()
        assert page.get_by_label("Text").input_value() == "<img src=x onerror=alert(1)>"
        assert seen.wrong == []


def test_a_cell_leads_to_the_verdict_of_its_build(browser: Browser, site: Path, tmp_path: Path) -> None:
    newer = two_builds(tmp_path).columns[1]
    with opened(browser, site / "matrix.html") as (page, _):
        page.locator("tr.rule", has_text=EXCLUSIVE).locator("td").last.click()
        page.wait_for_url(f"**/rules/{EXCLUSIVE}.html#{build_name(newer.build)}")
        assert "1.10" in page.locator("tr:target").inner_text()


def test_the_theme_is_remembered(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html", color_scheme="light") as (page, _):
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.get_by_role("button", name="Dark theme").click()
        dark = page.evaluate(ground)
        assert dark != light
        page.goto((site / "coverage.html").as_uri())
        assert page.evaluate(ground) == dark
        page.get_by_role("button", name="Light theme").click()
        assert page.evaluate(ground) == light


def test_the_theme_follows_the_system(browser: Browser, site: Path) -> None:
    grounds = []
    for theme in ("light", "dark"):
        with opened(browser, site / "matrix.html", color_scheme=theme) as (page, _):
            grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]


def test_without_storage_the_theme_still_changes(browser: Browser, site: Path) -> None:
    denied = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } })"
    with opened(browser, site / "matrix.html", before=denied, color_scheme="light") as (page, seen):
        page.get_by_role("button", name="Dark theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert seen.wrong == []


def test_everything_can_be_read_without_the_script(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html", java_script_enabled=False) as (page, seen):
        assert not page.locator("#filter").is_visible()
        assert not page.locator("#theme").is_visible()
        assert page.locator("tr.rule").count() > 100
        page.get_by_role("link", name=EXCLUSIVE).click()
        page.wait_for_url("**/rules/**")
        assert page.get_by_text("What it asks").is_visible()
        assert seen.wrong == []


def test_the_keyboard_comes_everywhere_and_its_place_is_seen(browser: Browser, site: Path) -> None:
    focused = "document.activeElement"
    with opened(browser, site / "matrix.html") as (page, _):
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.className") == "skip"
        assert page.evaluate(f"{focused}.getBoundingClientRect().left") >= 0
        page.keyboard.press("Enter")
        assert page.evaluate(f"{focused}.id") == "content"
        reached = set()
        for _ in range(14):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(f"{focused}.name || {focused}.className || {focused}.tagName"))
            assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") != "none"
        assert {"text", "level", "verdict", "build", "differ", "scroll matrix"} <= reached


def test_the_matrix_is_a_table_to_those_who_hear_it(browser: Browser, site: Path) -> None:
    with opened(browser, site / "matrix.html") as (page, _):
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=EXCLUSIVE))
        cells = row.get_by_role("cell").all_text_contents()
        assert cells[2:] == ["pass", "fail"]
        assert page.get_by_role("columnheader").count() == 5


def test_an_exchange_of_a_real_run_is_shown_with_its_fields(browser: Browser, tmp_path: Path) -> None:
    render(tmp_path / "site", site_of([real_run(tmp_path / "run", NOT_FOUND)]))
    with opened(browser, tmp_path / "site" / "rules" / f"{NOT_FOUND}.html") as (page, seen):
        deciding = page.locator(".exchange .deciding")
        assert deciding.get_by_text("decides").is_visible()
        assert "frame-end = 206" in deciding.locator("pre").inner_text()
        with page.expect_download() as download:
            page.get_by_role("link", name="Capture for Wireshark").click()
        assert download.value.path().read_bytes().startswith(b"\x0a\x0d\x0d\x0a")
        # A download ends the navigation that it began as; that is all that may have failed.
        assert all(each.startswith("failed: ") and each.endswith(".pcapng") for each in seen.wrong)
