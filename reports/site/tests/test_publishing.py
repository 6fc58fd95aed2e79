"""A site takes another's place whole or not at all, and never that of something else."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reports.compare.exchanges import Wanted
from reports.model.rows import TableRow
from reports.site.data import SiteData
from reports.site.publishing import SiteError, is_of
from reports.site.rendering import render
from reports.site.tests.sites import contents, two_builds


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> SiteData:
    return two_builds(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def site(tmp_path: Path, data: SiteData) -> Path:
    render(tmp_path / "site", data)
    return tmp_path / "site"


def test_a_directory_that_is_not_a_site_is_left_alone(tmp_path: Path, data: SiteData) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(SiteError, match="something else than a site of ours"):
        render(tmp_path / "mine", data)
    (tmp_path / "file").write_text("precious")
    with pytest.raises(SiteError, match="is not a directory"):
        render(tmp_path / "file", data)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == (tmp_path / "file").read_text() == "precious"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_an_empty_directory_and_an_older_site_are_replaced(tmp_path: Path, data: SiteData) -> None:
    (tmp_path / "site").mkdir()
    render(tmp_path / "site", data)
    (tmp_path / "site" / "rules" / "old.html").write_text("of a rule that is gone")
    render(tmp_path / "site", data)
    assert not (tmp_path / "site" / "rules" / "old.html").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def broken(wanted: Collection[Wanted]) -> Mapping[Wanted, Sequence[TableRow]]:
    raise RuntimeError("the warehouse is gone")


def test_a_render_that_breaks_leaves_the_old_site(tmp_path: Path, data: SiteData, site: Path) -> None:
    before = contents(site)
    with pytest.raises(RuntimeError, match="the warehouse is gone"):
        render(site, replace(data, frames=broken))
    assert contents(site) == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_render_that_is_killed_leaves_the_old_site_and_does_not_stand_in_the_way(
    data: SiteData, site: Path
) -> None:
    before = contents(site)

    def killed(wanted: Collection[Wanted]) -> Mapping[Wanted, Sequence[TableRow]]:
        os._exit(9)

    child = os.fork()
    if not child:
        render(site, replace(data, frames=killed))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert contents(site) == before
    assert (site.parent / ".site.unfinished").is_dir()
    render(site, data)
    assert contents(site) == before
    assert not [path for path in site.parent.iterdir() if path.name.startswith(".")]


def test_a_replacement_cut_between_its_two_renames_is_undone(data: SiteData, site: Path) -> None:
    before = contents(site)
    site.rename(site.parent / ".site.replaced")
    with pytest.raises(RuntimeError):
        render(site, replace(data, frames=broken))
    assert contents(site) == before


def test_two_renders_of_one_site_do_not_mix(data: SiteData, site: Path) -> None:
    def meanwhile(wanted: Collection[Wanted]) -> Mapping[Wanted, Sequence[TableRow]]:
        render(site, data)
        return {}

    before = contents(site)
    with pytest.raises(SiteError, match="another process is rendering it"):
        render(site, replace(data, frames=meanwhile))
    assert contents(site) == before


def test_a_site_knows_what_it_is_made_of(tmp_path: Path, data: SiteData) -> None:
    render(tmp_path / "site", data, "one")
    assert is_of(tmp_path / "site", "one")
    assert not is_of(tmp_path / "site", "two")
    render(tmp_path / "site", data)
    assert not any(is_of(tmp_path / "site", each) for each in ("one", ""))
    assert not is_of(tmp_path / "nowhere", "one")


def test_a_file_that_says_what_it_said_keeps_its_time(tmp_path: Path, data: SiteData, site: Path) -> None:
    for path in site.rglob("*.*"):
        os.utime(path, (1000, 1000))
    (site / "coverage.html").write_text("something else")
    render(site, data)
    written = {path.relative_to(site).as_posix() for path in site.rglob("*.*") if path.stat().st_mtime > 2000}
    assert written == {"coverage.html"}
