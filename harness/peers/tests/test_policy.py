"""Every legal variant of a reference peer is one choice, and another one."""

from __future__ import annotations

from dataclasses import fields

import pytest

from harness.dialect import dialect, documents
from harness.peers.footprint import differing
from harness.peers.policy import variants


@pytest.mark.parametrize("document", documents())
def test_every_choice_has_a_variant_and_every_variant_is_one_choice(document: str) -> None:
    proof, departed = dialect(document).proof, set()
    for name, policy in proof.policies.items():
        (choice,) = differing(policy, proof.default)
        assert name.startswith(f"{choice} = ")
        departed.add(choice)
    assert departed == {each.name for each in fields(proof.default)}


def test_no_two_variants_have_one_name() -> None:
    default = dialect("0-9-1").proof.default
    with pytest.raises(ValueError, match="heartbeat = some"):
        variants(default, {"heartbeat": [1, 2]}, lambda value: "some" if value in (1, 2) else str(value))
