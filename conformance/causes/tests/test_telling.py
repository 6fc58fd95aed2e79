"""What a cause is told in: fault, rules, certainty, and what else it may be where that is low."""

from __future__ import annotations

import pytest

from conformance.causes.diagnosis import Alike, Cause, Diagnosis
from conformance.causes.dictionary import Entry
from conformance.causes.telling import group, grouped, in_order

RULES = ("0-9-1/queue.bind.duplicates", "0-9-1/queue.bind.exchange.default-exchange")
KEPT = Entry("0-9-1", RULES[0], "binds twice", {})
ROW = Entry("0-9-1", "", "queue.bind: is confirmed / dropped", {})
SAME = Entry("0-9-1", RULES[1], "binds twice", {})
OTHER = Entry("0-9-1", RULES[1], "binds to nothing", {})
THIRD = Entry("0-9-1", "", "binds too late", {})


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        (
            Cause(KEPT, RULES, 0.9, 5.0, (OTHER,)),
            f"It binds twice (as what breaks {RULES[0]}): 2 rules, certain to 90%",
        ),
        (
            Cause(KEPT, RULES[:1], 0.4, 5.0, (SAME, OTHER, ROW, THIRD)),
            f"It binds twice (as what breaks {RULES[0]}): 1 rule, certain to 40%"
            f", or it binds to nothing (as what breaks {RULES[1]})"
            ", or it is as if “queue.bind: is confirmed” were not done",
        ),
        (
            Cause(THIRD, RULES, 0.5, 5.0, (ROW, ROW)),
            "It binds too late (duplicates, default-exchange): 2 rules, certain to 50%"
            ", or it is as if “queue.bind: is confirmed” were not done",
        ),
        (
            Cause(ROW, RULES, 0.5, 5.0),
            "It is as if “queue.bind: is confirmed” were not done: 2 rules, certain to 50%",
        ),
    ],
)
def test_a_cause_is_told_with_what_else_it_may_be(cause: Cause, says: str) -> None:
    (group,) = grouped(Diagnosis((cause,), ()))
    assert (group.says, group.rules) == (says, cause.rules)


def test_a_rule_alone_is_told_behind_the_causes_but_where_it_is_the_first_of_its_protocol() -> None:
    same = Alike("this", "that", ("0-9-1/a", "0-9-1/b", "0-9-1/c"))
    order = in_order(Diagnosis((), ("0-9-1/d", "1-0/e", "1-0/f"), (same,)))
    assert order == [same, "1-0/e", "0-9-1/d", "1-0/f"]
    assert [(each.says[:17].strip(), each.rules) for each in map(group, order[:2])] == [
        ("There comes this", same.rules),
        ("This stands alone", ("1-0/e",)),
    ]
