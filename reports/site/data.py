"""What the site is made from. Nothing in it needs Spark: the warehouse, or one run folder, fills it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reports.audit.audit import Audit
from reports.compare.exchanges import Frames, Wanted
from reports.compare.matrix import Detection
from reports.interop.found import Interop
from reports.model.findings import Column
from reports.model.rows import TableRow
from scenarios.registry import Checks
from spec.catalogue import Catalogue
from spec.ledger import Ledger


def no_frames(wanted: Collection[Wanted]) -> Mapping[Wanted, Sequence[TableRow]]:
    """Give no frames, for a site without exchanges."""
    del wanted
    return {}


@dataclass(frozen=True, slots=True)
class SiteData:
    """All that the site shows.

    `columns` stand in the order of `reports.model.findings.columns_in_order`, `frames` is asked for a bounded
    number of connections at a time, `detection` is None when the deviations were not run here,
    `audit` when no vendor's claims were held against the builds, `interop` when no clients and brokers were
    played.
    """

    catalogue: Catalogue
    checks: Checks
    columns: Sequence[Column]
    ledgers: Sequence[Ledger]
    frames: Frames = no_frames
    detection: Detection | None = None
    audit: Audit | None = None
    interop: Interop | None = None
