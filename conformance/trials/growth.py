"""How the fault dictionary grows: `python -m conformance.trials.growth`.

Some of the faults are judged by some of the rules, on one core. A fault is judged only by the rules that it
touches, so the time grows with the faults and with those rules, and not with the product of all.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from conformance.causes.faults import known_faults
from conformance.causes.judging import prepared, signs

FAULTS = (20, 40, 80)
PARTS = (0.25, 0.5, 1.0)
"""Of the rules."""


def main() -> None:
    """Print the seconds of each, and what that comes to for all faults and rules."""
    whole, faults, chance = prepared(), list(known_faults()), random.Random(0)
    chance.shuffle(faults)
    identities = sorted(whole.rules)
    chance.shuffle(identities)
    table = Table("rules", *(f"{count} faults" for count in FAULTS), "signs", title="seconds on one core")
    for part in PARTS:
        some = identities[: int(len(identities) * part)]
        bench = replace(whole, rules={each: whole.rules[each] for each in some})
        taken, found = [], 0
        for count in FAULTS:
            began, found = time.process_time(), 0
            for fault in faults[:count]:
                found += len(signs(fault, bench))
            taken.append(time.process_time() - began)
        table.add_row(str(len(some)), *(f"{each:.1f}" for each in taken), str(found))
    console = Console()
    console.print(table)
    each = taken[-1] / FAULTS[-1]
    console.print(f"{len(faults)} faults and {len(identities)} rules: {each * len(faults):.0f} s on one core")


if __name__ == "__main__":
    main()
