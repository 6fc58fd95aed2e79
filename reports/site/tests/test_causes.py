"""The page of a build puts its findings under what causes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lxml import html

from conformance.causes.dictionary import dictionary
from reports.site.names import build_name
from reports.site.rendering import render
from reports.site.tests.sites import site_of
from reports.tests.samples import make_run

FAULT = next(each for each in dictionary() if each.rule == "0-9-1/grammar/basic.qos.trailing")


def headings(folder: Path, **changes: Any) -> list[Any]:
    """Give the causes on the page of a build with all that one fault turns red."""
    verdicts = {rule: sign.verdict for rule, sign in FAULT.signs.items()}
    signatures = {rule: sign.signature for rule, sign in FAULT.signs.items()}
    site = site_of([make_run(folder / "run", verdicts=verdicts, signatures=signatures, **changes)])
    render(folder / "site", site)
    page = html.parse(folder / "site" / "targets" / f"{build_name(site.columns[0].build)}.html")
    return list(page.xpath("//section[@aria-labelledby='causes']//details"))


def test_findings_stand_under_the_fault_that_explains_them(tmp_path: Path) -> None:
    assert len(FAULT.signs) > 1
    (cause,) = headings(tmp_path)
    assert cause.find("summary").text_content().startswith(f"It {FAULT.says}")
    assert {each.text_content() for each in cause.xpath(".//tbody//a")} == FAULT.signs.keys()


def test_a_build_of_a_client_has_no_causes(tmp_path: Path) -> None:
    assert headings(tmp_path, role="client") == []
