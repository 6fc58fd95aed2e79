"""Fuzz targets of AMQP 1.0 can fail, and what fuzzing has found."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from harness.amqp1_0.trials import fuzz as targets
from harness.amqp1_0.trials import odd
from harness.amqp1_0.trials.fuzz import TARGETS
from harness.amqp1_0.wire import annotate
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, FrameReader
from harness.trials import fuzz

# -- the targets can fail ------------------------------------------------------------------------------


def test_a_reader_that_loses_octets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FrameReader, "rest", lambda _: b"")
    with pytest.raises(AssertionError):
        TARGETS["frames"](b"\3\0\0abc")


def test_a_decoder_that_raises_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise KeyError("a defect")

    monkeypatch.setattr(targets, "decode", broken)
    with pytest.raises(KeyError):
        TARGETS["value"](b"\x40")


def test_a_password_that_comes_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "blank_credentials", lambda octets: octets)
    with pytest.raises(AssertionError):
        TARGETS["credentials"](b"\0")


def test_an_octet_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "annotate", lambda octets: list(annotate.annotate(octets))[1:])
    with pytest.raises(AssertionError):
        TARGETS["spans"](b"\0\0\0\x08\2\0\0\0")


def test_every_kind_of_unit_is_made() -> None:
    chosen = Random(1)
    made = {odd.unit(fuzz.Draws(chosen.randbytes(400))) for _ in range(2000)}
    assert PROTOCOL_HEADER in made
    descriptors = {each[10] for each in made if each[4:6] == b"\2\0" and each[8:10] == b"\0\x53"}
    assert descriptors >= {kind.spec.code for kind in odd.PERFORMATIVES}
    assert any(each[5:6] == b"\1" for each in made)
    assert any(each[:1] == b"\xff" for each in made)


BROKE: Mapping[str, tuple[bytes, ...]] = {
    # Not every "not a number" survives a Python float.
    "value": (bytes.fromhex("72ffbe298f"),),
    # A frame that ends inside the descriptor of sasl-init.
    "credentials": (bytes.fromhex("743f81e924ab5d04a88522251402116fa6e89044e7092d902c30677ed187"),),
}
"""Octets that once broke a target."""


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, all_ in BROKE.items() for data in all_])
def test_what_broke_once_does_not_break_again(name: str, data: bytes) -> None:
    TARGETS[name](data)
