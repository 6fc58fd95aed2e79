"""Rows of runs that the warehouse does not hold yet, made where their folders are: here, or on an executor.

What is handed in is told by its evidence. Of evidence that is held nothing is made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from reports.ingest.adding import added
from reports.ingest.intake import Folder
from reports.ingest.reconciling import Offered, RunCopy
from reports.ingest.settling import held
from reports.model.batches import unpacked
from reports.model.rows import TableRow
from reports.warehouse.place import Place

Parse = Callable[[Place, Mapping[int, Folder]], dict[int, TableRow]]
"""Makes rows of the events in some folders; gives what describes each, a row of `parsing.PARSED`."""


@dataclass(frozen=True, slots=True)
class Made:
    """A folder as it is `offered`, and what describes its run, `packed`: None where there is nothing new."""

    offered: Offered
    row: bytes | None = None

    def told(self) -> TableRow:
        """Tell it in texts and octets, so that it travels; `heard` is its way back."""
        return {"offered": json.dumps(asdict(self.offered)), "row": self.row}

    @classmethod
    def heard(cls, offered: str, row: bytes | None) -> Made:
        """Make it of what `told` gave."""
        fields = json.loads(offered)
        evidence = fields["evidence"] and RunCopy(**fields["evidence"])
        return cls(Offered(**fields | {"evidence": evidence}), row)


def made(place: Place, folders: Sequence[Folder], parse: Parse) -> list[Made]:
    """Bring the details of the `folders` that are new into the warehouse; gives what is to be decided.

    Rows that a run has made of its evidence are brought in as they are; events of others are for `parse`.
    """
    known = {each.digest: each for each in held(place, "digest", {each.digest for each in folders})}
    new = {at: each for at, each in enumerate(folders) if not each.reason and each.digest not in known}
    sealed = {at: each for at, each in new.items() if each.seal}
    others = {at: each for at, each in new.items() if not each.seal}
    heads = added(place, sealed) | (parse(place, others) if others else {})
    return [_made(each, heads.get(at), known.get(each.digest)) for at, each in enumerate(folders)]


def _made(folder: Folder, head: TableRow | None, known: RunCopy | None) -> Made:
    if head is None:
        run = known.run if known else folder.run
        return Made(Offered(folder.name, run, folder.digest, known, folder.reason))
    if head["reason"]:
        return Made(Offered(folder.name, folder.run, folder.digest, None, head["reason"]))
    (told,) = unpacked(head["row"]).select(["run", "digest", "partial", "events"]).to_pylist()
    evidence = RunCopy(**told, table=head["table"])
    return Made(Offered(folder.name, evidence.run, folder.digest, evidence), head["row"])
