"""The pages about clients and brokers: they follow from the runs, and nothing a peer said is markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from click.testing import CliRunner, Result

from conformance.interop.outcomes import Leg, Outcome
from conformance.interop.tests.test_page import HOSTILE, a_run
from reports.commands.cli import main
from reports.commands.tests.on_spark import here as here
from reports.tests.interop import make_interop_run, write_interop_run
from reports.tests.samples import make_run

LOST = {"field.i8": Outcome.LOST, "body.empty": Outcome.SAME}


class Links(HTMLParser):
    """Collects where a page leads to, and what acts by itself in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: set[Path] = set()
        self.acts: list[str] = []
        self._page = page
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.acts += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        self.acts += [tag] * (tag in ("img", "iframe") or (tag == "script" and "src" not in dict(attrs)))
        target = dict(attrs).get("href") or "#"
        if not target.startswith("#"):
            self.found.add(self._page.parent / target.partition("#")[0])


def hostile(folder: Path, number: int) -> Path:
    """Make a run in which everything that can be said is hostile."""
    named = {"client": HOSTILE, "client_version": HOSTILE, "broker": HOSTILE, "detail": HOSTILE}
    legs = []
    for each in a_run(HOSTILE):
        told = {name: getattr(each, name) for name in Leg.__slots__}
        named_too = {"broker_version": f"{HOSTILE}{number}", "case": HOSTILE}
        legs.append(Leg(**told | {name: named[name] for name in named if told[name]} | named_too))
    return write_interop_run(folder, legs[:1] + legs[2:3], number=number)


def test_from_runs_to_pages_and_a_comparison(here: Callable[..., Result], tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / "rules"),
        make_interop_run(tmp_path / "before", broke={"there": "it does not start"}),
        make_interop_run(tmp_path / "after", number=2, client_version="1.1", sends=LOST),
        *(hostile(tmp_path / f"hostile-{number}", number) for number in (3, 4)),
    ]
    warehouse = ("--warehouse", tmp_path / "w")
    ingested = here("ingest", *runs, *warehouse)
    assert ingested.exit_code == 0, ingested.output
    assert "5 added" in ingested.stdout

    assert here("site", *warehouse, "--output", tmp_path / "site").exit_code == 0
    site = tmp_path / "site"
    shown = re.sub(r"<[^>]*>", " ", site.joinpath("interop.html").read_text("utf-8").replace("<wbr>", ""))
    page = " ".join(shown.split())
    assert "over 4 runs" in page
    assert "there could not be played: it does not start" in page
    assert "one 1.0 → one 1.1 : 1 regressed; unchanged: 1" in page
    assert re.search(r"field\.i8 one here .*✓ same .*1\.0 at 3\.0, 2026-11-20 .*∅ lost .*1\.1 at 3\.0", page)
    pages = [site / "interop.html", *site.glob("interop/*.html")]
    assert len(pages) == 1 + 3 + 2, "a page of each client, of brokers by themselves, of two comparisons"
    for each in pages:
        html = each.read_text("utf-8")
        assert not re.search(r"<(img|iframe)|<script>|[\u202e\x1b\ud800]", html)
        links = Links(each)
        assert links.acts == []
        assert {target for target in links.found if not target.is_file()} == set()

    told = here("compare", "one 1.0", "one 1.1", "--interop", *warehouse)
    assert told.exit_code == 1
    assert "1 regressed; unchanged: 1" in told.stdout
    assert re.search(r"field\.i8 +regressed +0-9-1 here +✓ same +∅ lost \(send\)", told.stdout)
    for form, starts in (("json", "{"), ("markdown", "## Clients"), ("html", "<!doctype html>")):
        done = here("compare", "one 1.0", "one 1.1", "--interop", "--format", form, *warehouse)
        assert (done.exit_code, done.stdout[: len(starts)]) == (1, starts)
        assert "field.i8" in done.stdout.replace("<wbr>", "")
    back = here("compare", "one 1.1", "one 1.0", "--interop", *warehouse)
    assert (back.exit_code, "1 mended" in back.stdout) == (0, True)
    unknown = here("compare", "one 1.0", "one 9", "--interop", *warehouse)
    assert unknown.exit_code == 2
    assert "'one 9' is no client and no broker of the warehouse; there are " in unknown.stderr
    assert unknown.stderr.endswith(", one 1.0, one 1.1\n")


def test_what_needs_a_warehouse_says_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["compare", "one 1", "one 2", "--interop"])
    assert done.exit_code == 2
    assert "needs a warehouse" in done.stderr
    runs = [str(make_interop_run(tmp_path / name)) for name in ("old", "new")]
    done = CliRunner().invoke(main, ["compare", *runs])
    assert done.exit_code == 2
    assert (
        "old: a run of clients and brokers; ingest it and compare --interop in the warehouse" in done.stderr
    )
