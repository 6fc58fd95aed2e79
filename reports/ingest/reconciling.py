"""What becomes of runs that are handed in, given what the warehouse holds of them. Pure decisions.

Each run stands in the warehouse once. The same evidence again changes nothing. Of two parts of one run the
larger counts, and the complete run above any part of it. Two complete runs that differ cannot both be that
run: the one that is there stays, the other is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reports.ingest.intake import told


@dataclass(frozen=True, slots=True)
class RunCopy:
    """One evidence of a run: which run, which evidence, how complete, and the table that describes it."""

    run: str
    digest: str
    partial: bool
    events: int
    table: str = "runs"

    @property
    def weight(self) -> tuple[bool, int, str]:
        """Of two copies the heavier counts; the digest only makes it independent of their order."""
        return not self.partial, self.events, self.digest


@dataclass(frozen=True, slots=True)
class Left:
    """A row of the quarantine: a folder that was left out, and why."""

    folder: str
    run: str
    digest: str
    reason: str


@dataclass(frozen=True, slots=True)
class Offered:
    """A folder that is handed in: its evidence, or the reason why it has none."""

    folder: str
    run: str
    digest: str
    evidence: RunCopy | None
    reason: str = ""


class Decision(StrEnum):
    """What became of a folder."""

    ADDED = "added"
    REPLACED = "replaced"
    """It is more complete than what was there of its run, and took its place."""
    KNOWN = "known"
    """The warehouse has this evidence, or more of the same run."""
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: of each offered folder what becomes of it, in order, and why if it is left out.

    `keep` are the positions of those that become the runs' evidence, in place of what there was.
    """

    outcomes: tuple[Decision, ...]
    reasons: Mapping[int, str]
    keep: frozenset[int]


def plan(offered: Sequence[Offered], held: Iterable[RunCopy]) -> Plan:
    """Decide what becomes of the `offered`, given the evidence `held` of their runs."""
    best: dict[str, tuple[int | None, RunCopy]] = {each.run: (None, each) for each in held}
    outcomes: list[Decision] = []
    reasons = {number: each.reason for number, each in enumerate(offered) if each.evidence is None}
    for number, each in enumerate(offered):
        outcome = Decision.QUARANTINED
        if each.evidence is not None:
            outcome = _against(best.get(each.evidence.run), each.evidence)
        if outcome is Decision.QUARANTINED and each.evidence is not None:
            reasons[number] = _differs(each.folder, each.evidence, best[each.evidence.run][1])
        if outcome in (Decision.ADDED, Decision.REPLACED) and each.evidence is not None:
            older = best.get(each.evidence.run, (None, None))[0]
            if older is not None:
                outcome, outcomes[older] = outcomes[older], Decision.KNOWN
            best[each.evidence.run] = number, each.evidence
        outcomes.append(outcome)
    keep = frozenset(number for number, _ in best.values() if number is not None)
    return Plan(tuple(outcomes), reasons, keep)


def _against(found: tuple[int | None, RunCopy] | None, new: RunCopy) -> Decision:
    if found is None:
        return Decision.ADDED
    old = found[1]
    if new.digest == old.digest:
        return Decision.KNOWN
    if not (new.partial or old.partial):
        return Decision.QUARANTINED
    return Decision.REPLACED if new.weight > old.weight else Decision.KNOWN


def _differs(folder: str, new: RunCopy, old: RunCopy) -> str:
    return told(
        folder,
        f"{folder}: another complete run {new.run} is there already, with other evidence "
        f"(SHA-256 {old.digest[:12]}…, here {new.digest[:12]}…)",
    )


def quarantine(
    offered: Sequence[Offered], reasons: Mapping[int, str], left: Iterable[Left]
) -> tuple[tuple[Left, ...], frozenset[Left]]:
    """Say which rows to add to the quarantine, and which to take out: earlier reasons are past.

    `left` are the rows of the quarantine with the names of the offered folders.
    """
    rows = {
        Left(offered[number].folder, offered[number].run, offered[number].digest, reason)
        for number, reason in reasons.items()
    }
    left = set(left)
    present = {(each.folder, run) for each in offered for run in (each.run, "")}
    release = {row for row in left if (row.folder, row.run) in present} - rows
    return tuple(sorted(rows - left, key=lambda row: (row.folder, row.run, row.digest))), frozenset(release)
