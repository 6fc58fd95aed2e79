"""The pages of rules: most of a site, and made side by side where they are many.

What they all show goes to each process once; then each is given rules with the rows of their exchanges, which
only the first process looks up.
"""

from __future__ import annotations

import inspect
import os
import signal
import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import forkserver, get_context, parent_process
from pathlib import Path
from typing import Any

from reports.compare.exchanges import Wanted
from reports.compare.matrix import Matrix, RuleRow
from reports.model.findings import Column, mark, roles_of
from reports.model.rows import TableRow
from reports.site import findings
from reports.site.data import SiteData
from reports.site.names import rule_page
from reports.site.press import Press
from reports.site.publishing import SiteError
from reports.site.relations import pieces, relatives
from scenarios.registry import Checks
from spec.catalogue import Catalogue
from spec.rules import Role, Rule

BATCH = 256
"""Connections whose frames are looked up, and held, at a time."""
AT_ONCE = 64
"""Rules whose pages one process makes before others are asked for."""
AHEAD = 2
"""So many times that is with each other process."""
OTHERS = 3
"""Other processes at most: each holds all findings, and the first looks up exchanges for all of them."""
MANY = 1000
"""Pages up to which one process is done sooner than others have started."""


@dataclass(frozen=True, slots=True)
class Given:
    """A rule whose page is to be made, by its place among the rows, and what the registry says of it."""

    place: int
    checks: Sequence[tuple[str, Sequence[str]]]
    deviations: Sequence[Mapping[str, str]]


Rows = Mapping[Wanted, Sequence[TableRow]]
Work = tuple[Sequence[Given], Rows]


@dataclass(frozen=True, slots=True)
class Shared:
    """What pages of rules share: where they go, what all templates know, the rows of the matrix."""

    folder: Path
    everywhere: Mapping[str, Any]
    catalogue: Catalogue
    columns: Sequence[Column]
    rows: Sequence[RuleRow]


_APART = get_context("forkserver")
"""Others are forked of a process that has loaded what they need, and has none of our threads."""


def others(pages: int) -> int:
    """Say how many other processes make so many pages of rules; none where one is done sooner."""
    return min((os.cpu_count() or 1) - 1, OTHERS) if pages > MANY else 0


def load_aside() -> None:
    """Load what other processes need while something else is done: whoever does so first waits for none."""
    _APART.set_forkserver_preload([__name__])
    forkserver.ensure_running()


class Pages:
    """Makes pages of rules, in one process."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._press = Press(shared.folder, **shared.everywhere)
        self._lineage = findings.Lineage(shared.columns)
        self._documents = {each.prefix: each for each in shared.catalogue.documents}
        self._named = {row.identity for row in shared.rows}

    def write(self, given: Sequence[Given], rows: Rows) -> list[Path]:
        """Write the page of each rule that is given, with its captures; gives the files."""
        before = len(self._press.written)
        for each in given:
            self._page(each, rows)
        return self._press.written[before:]

    def _page(self, given: Given, rows: Rows) -> None:
        shared, row = self._shared, self._shared.rows[given.place]
        rule, groups = row.rule, findings.alike(row, shared.columns)
        self._press.page(
            rule_page(row.identity),
            "rule.html.j2",
            row=row,
            rule=rule,
            document=self._documents.get(rule.document) if rule else None,
            checks=given.checks,
            deviations=given.deviations,
            proofs={(proof.role, proof.deviation): proof for proof in row.proofs or ()},
            lines=list(findings.lines(row, shared.columns, self._lineage)),
            told=findings.told(row, groups, rows, self._press),
            related=relatives(rule, shared.catalogue, shared.columns, self._named) if rule else [],
            **_arguments(rule, shared.catalogue, self._named),
        )


def rule_pages(press: Press, table: Matrix, site: SiteData) -> None:
    """Write the pages of all rules in the `table`. Raises SiteError where a process that writes some dies."""
    found = list(table.rows)
    shared = Shared(press.folder, press.everywhere, site.catalogue, site.columns, found)
    work = _work(found, site)
    if crew := others(len(found)):
        for written in _together(shared, work, crew):
            press.written += written
    else:
        own = Pages(shared)
        for given, rows in work:
            press.written += own.write(given, rows)


def _together(shared: Shared, work: Iterable[Work], count: int) -> Iterator[list[Path]]:
    """Do the `work` in so many other processes, and in this one while they have enough to do."""
    load_aside()
    own, waiting = Pages(shared), deque[Future[list[Path]]]()
    crew = ProcessPoolExecutor(count, _APART, _begin, (shared,))
    try:
        for given, rows in work:
            while waiting and waiting[0].done():
                yield waiting.popleft().result()
            if len(waiting) < AHEAD * count:
                waiting.append(crew.submit(_write, given, rows))
            else:
                yield own.write(given, rows)
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise SiteError("a process that wrote pages of the site has died") from None
    finally:
        crew.shutdown(cancel_futures=True)


_MADE: list[Pages] = []
"""In another process: what makes its pages."""


def _begin(shared: Shared) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it, and says so
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _MADE.append(Pages(shared))


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
    os._exit(1)


def _write(given: Sequence[Given], rows: Rows) -> list[Path]:
    return _MADE[0].write(given, rows)


def _arguments(rule: Rule | None, catalogue: Catalogue, pages: Collection[str]) -> dict[str, Any]:
    """Cut what a rule says of other rules into pieces: those that name a rule with a page lead there."""
    if rule is None:
        return {"reading": [], "reason": [], "one_fault": []}
    named = [name for name in catalogue.named_by(rule) if name in pages]
    said = {"reading": rule.reading, "reason": rule.reason, "one_fault": " ".join(rule.one_fault)}
    return {name: list(pieces(text, named)) for name, text in said.items()}


def _work(table: Sequence[RuleRow], site: SiteData) -> Iterator[Work]:
    """Give the rules by their places, with the rows of their exchanges, some at a time."""
    roles = roles_of(site.columns)
    for batch in _batches(table, site.columns):
        wanted = {key for _, keys in batch for key in keys}
        rows = site.frames(sorted(wanted)) if wanted else {}
        for at in range(0, len(batch), AT_ONCE):
            some = batch[at : at + AT_ONCE]
            own = {key: rows[key] for _, keys in some for key in keys if key in rows}
            yield [_given(place, table[place].identity, site.checks, roles) for place, _ in some], own


Batch = list[tuple[int, list[Wanted]]]


def _batches(table: Sequence[RuleRow], columns: Sequence[Column]) -> Iterator[Batch]:
    """Batch the places of rules with the keys of their exchanges, so many at a time that these stay few."""
    batch: Batch = []
    count = 0
    for place, row in enumerate(table):
        keys = [group.key for group in findings.alike(row, columns)]
        if batch and count + len(keys) > BATCH:
            yield batch
            batch, count = [], 0
        batch.append((place, list(filter(None, keys))))
        count += len(keys)
    if batch:
        yield batch


def _given(place: int, rule: str, checks: Checks, roles: Collection[Role]) -> Given:
    return Given(
        place,
        [(each.name + mark(each.role), _paragraphs(each.does)) for each in checks.of(rule, *roles)],
        [{"role": each.role, "says": each.says} for each in checks.deviations_of(rule, *roles)],
    )


def _paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in inspect.cleandoc(text).split("\n\n") if each.strip()]
