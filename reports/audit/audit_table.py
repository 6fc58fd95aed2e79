"""What becomes of a claim: the table that an audit turns on, and the words for what was measured.

A vendor may be contradicted in public by this, so where a measurement does not settle a claim, the claim is
not verified, and says why. In particular:

- A legal outcome that is not the preferred one keeps a rule: it confirms the claim that it is kept.
- Whether a freedom (MAY) is used no verdict tells: `info` at that level settles nothing.
- A rule whose verdict alternates on a build settles nothing there.
- `inapplicable` says that a rule has no occasion. That settles no claim that the rule is kept; only where
  nothing else came of a whole method or class does it say that the product lacks it.
- A general claim (a method, a class) that something is kept is contradicted only where nothing measured of
  it is; where some rules are kept and others not, it is overstated. Shortfalls that the vendor admits
  in a more specific entry do not count against it; where there are no others it is neither confirmed nor
  refuted, as the statement itself takes part of it back.
- That a method or class is implemented in part is not refuted by the rules measured being kept: what is
  missing need not be among them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from conformance.evidence.verdicts import Verdict
from reports.audit.claims import Meaning


class Status(StrEnum):
    """What became of a claim, in the order in which it is shown.

    Each has its `meaning`, whether it speaks `against` the claim in a gate, and rich's `style`.
    """

    CONTRADICTED = "contradicted", "claimed as kept, but a MUST is broken", True, "bold red"
    OVERSTATED = (
        "overstated", "claimed as kept in full, but a SHOULD is missed or part is broken", True, "yellow",
    )  # fmt: skip
    VERSION_DEPENDENT = "version-dependent", "differs between the builds measured", False, "magenta"
    UNDERSTATED = "understated", "claimed as lacking, but what was measured is kept", False, "cyan"
    CONFIRMED = "confirmed", "what was measured is as claimed", False, "green"
    NOT_VERIFIED = "not verified", "nothing measured settles it", False, "dim"

    meaning: str
    against: bool
    style: str

    def __new__(cls, value: str, meaning: str, against: bool, style: str) -> Self:
        made = str.__new__(cls, value)
        made._value_, made.meaning, made.against, made.style = value, meaning, against, style
        return made


class Measured(StrEnum):
    """What a rule, or all rules of a method or class together, came to on a build."""

    KEPT = "kept"
    SO_FAR = "kept as far as measured"
    QUALIFIED = "kept but for what other entries admit"
    TOLERATED = "legal but not preferred"
    PARTLY = "kept in part"
    MISSED = "missed"
    BROKEN = "broken"
    ABSENT = "inapplicable"
    LACKING = "lacking"
    OPEN = "not settled"


MEASURED: Mapping[Verdict, Measured] = {
    Verdict.ERROR: Measured.OPEN,
    Verdict.FAIL: Measured.BROKEN,
    Verdict.INCONCLUSIVE: Measured.OPEN,
    Verdict.NOT_RUN: Measured.OPEN,
    Verdict.WARN: Measured.MISSED,
    Verdict.INFO: Measured.KEPT,
    Verdict.PASS: Measured.KEPT,
    Verdict.INAPPLICABLE: Measured.ABSENT,
    Verdict.UNTESTABLE: Measured.OPEN,
}
"""What a verdict on one rule says, before level, grade and flakiness are looked at."""

BOASTS = {Meaning.KEPT, Meaning.USED}
"""What a measurement can speak against, and an admission elsewhere can speak for."""
GOOD = {Measured.KEPT, Measured.TOLERATED}
BAD = {Measured.MISSED, Measured.BROKEN}

_CODES = {
    "X": Status.CONTRADICTED,
    "O": Status.OVERSTATED,
    "U": Status.UNDERSTATED,
    "C": Status.CONFIRMED,
    "-": Status.NOT_VERIFIED,
}
# A row for each thing measured, a column for each thing claimed, in the order of `Meaning`:
#             kept  partly  not-kept  planned  used  unused
_DRAWN = """
    KEPT       C      U        U         U       C      -
    SO_FAR     C      -        U         U       C      -
    QUALIFIED  -      -        -         -       -      -
    TOLERATED  C      C        C         C       C      -
    PARTLY     O      C        U         U       O      -
    MISSED     O      C        C         C       O      -
    BROKEN     X      C        C         C       X      -
    ABSENT     -      -        C         C       -      C
    LACKING    O      O        C         C       O      C
    OPEN       -      -        -         -       -      -
"""
STATUS_OF: Mapping[tuple[Measured, Meaning], Status] = {
    (Measured[name], meaning): _CODES[code]
    for name, *codes in map(str.split, _DRAWN.strip().splitlines())
    for meaning, code in zip(Meaning, codes, strict=True)
}
"""What becomes of a claim on one build."""
