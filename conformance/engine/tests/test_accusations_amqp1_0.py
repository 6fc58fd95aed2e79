"""Behaviour of a 1.0 server that a rule once held against it and that is no breach of that rule."""

from __future__ import annotations

import pytest

from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import in_memory, judge_rule
from scenarios.registry import checks
from spec.catalogue import catalogue


def breaks(rule: str, says: str) -> object:
    (found,) = (each.change for each in checks().deviations[rule] if each.says == says)
    return found


@pytest.mark.parametrize(
    ("rule", "verdict", "judged_by", "says"),
    [
        # What a server must discard ends with our close: a second close of its own is another rule's matter.
        ("1-0/2.4.6.discarding", Verdict.PASS, "1-0/2.4.3.close-is-last", "answers our close again"),
        # Nobody is named to close the TCP connection first.
        ("1-0/2.4.6.end-closes-tcp", Verdict.INFO, "1-0/2.4.6.end-closes-tcp", "leaves the stream open"),
        # The field that holds the reason of a close is optional.
        ("1-0/2.4.3.close-carries-reason", Verdict.WARN, "1-0/2.4.3.close-carries-reason", "never says why"),
    ],
)
def test_what_a_sentence_allows_does_not_fail(rule: str, verdict: Verdict, judged_by: str, says: str) -> None:
    assert judge_rule(catalogue()[rule], in_memory(breaks(judged_by, says))).verdict is verdict
