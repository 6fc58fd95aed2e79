"""Every fuzz target on the same examples in every run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.dialect import documents, of
from harness.trials import fuzz

ALL: Mapping[str, fuzz.Target] = {
    **fuzz.TARGETS,
    **{
        f"{document} {name}": target
        for document in documents()
        for name, target in of(document, "trials.fuzz").TARGETS.items()
    },
}
EXAMPLES = settings(derandomize=True, deadline=None, max_examples=150, database=None)
# Lists of short pieces: hypothesis alone seldom makes inputs long enough for many steps.
INPUTS = st.binary(max_size=200) | st.lists(st.binary(min_size=8, max_size=64), max_size=12).map(b"".join)


@pytest.mark.parametrize("name", sorted(ALL))
@EXAMPLES
@given(data=INPUTS)
def test_nothing_but_typed_refusals_comes(name: str, data: bytes) -> None:
    ALL[name](data)


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("octet", [0, 1, 127, 200, 255])
def test_long_inputs_come_to_an_end(name: str, octet: int) -> None:
    ALL[name](bytes([octet]) * fuzz.LONGEST)
    ALL[name](bytes((octet + 7 * place) % 256 for place in range(fuzz.LONGEST)))
