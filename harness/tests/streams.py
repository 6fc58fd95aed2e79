"""What the tests of both wires share: settings, numbers, damage, and streams that come in pieces."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from harness.wire.reader import Reader

Unit = TypeVar("Unit")
Units = list[tuple[bytes, Unit]]

thorough = settings(derandomize=True, deadline=None, max_examples=150, database=None)
"""The same examples in every run."""
brief = settings(thorough, max_examples=25)
"""For tests that are repeated for every method or type."""


def unsigned(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Valid octets with some octets changed, then perhaps cut or extended."""
    octets = bytearray(draw(whole))
    for _ in range(draw(st.integers(1, 3))):
        if octets:
            octets[draw(st.integers(0, len(octets) - 1))] = draw(unsigned(8))
    cut = draw(st.integers(0, len(octets)) | st.just(len(octets)))
    return bytes(octets[:cut]) + draw(st.just(b"") | st.binary(max_size=10))


def chunked_alike(reader: Callable[[], Reader[Unit]], whole: list[bytes], cuts: list[int]) -> Units[Unit]:
    """The units of a stream of whole ones, which come as well from a stream that is cut anywhere."""
    stream = b"".join(whole)
    cutting = reader()
    seen: Units[Unit] = []
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for start, end in pairwise(edges):
        seen += cutting.feed(stream[start:end])
    assert [raw for raw, _ in seen] == whole
    assert seen == list(reader().feed(stream))
    assert cutting.rest() == b""
    return seen


def both_ways(reader: Callable[[], Reader[Unit]], stream: bytes, step: int) -> tuple[list[Unit], list[Unit]]:
    """The units of any stream at once, and in pieces of one size; no octet of it is lost."""
    whole, cutting = reader(), reader()
    at_once = list(whole.feed(stream))
    seen: Units[Unit] = []
    for start in range(0, len(stream), step):
        seen += cutting.feed(stream[start : start + step])
    assert b"".join(raw for raw, _ in at_once) + whole.rest() == stream
    assert b"".join(raw for raw, _ in seen) + cutting.rest() == stream
    return [unit for _, unit in at_once], [unit for _, unit in seen]
