"""Our octets beside those of Qpid Proton, for every type and every composite; skipped where it is missing.

Proton reads what we write, and we read what Proton writes. Left out are the content of a
uuid, which its Python binding cannot give, and what Proton refuses or takes apart wrongly: descriptors that
hold other values, and described arrays or described values that are described again.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from harness.amqp1_0.trials import benchmark
from harness.amqp1_0.wire.composites import CLASSES, Composite, decode_composite
from harness.amqp1_0.wire.decoding import decode_whole
from harness.amqp1_0.wire.encoding import encode, type_of
from harness.amqp1_0.wire.frames import amqp_frame
from harness.amqp1_0.wire.generated import GRAMMAR
from harness.amqp1_0.wire.tests.strategies import composites_of, of_type, values
from harness.tests.streams import brief, thorough
from harness.trials import benchmark as timing

proton = pytest.importorskip("proton", reason="python-qpid-proton is not installed")

_THEIRS = {"boolean": "BOOL"}
NAMES: dict[int, str] = {
    getattr(proton.Data, _THEIRS.get(each.name, each.name.upper())): each.name for each in GRAMMAR.primitives
} | {proton.Data.DESCRIBED: "described value"}


def parsed(octets: bytes) -> Any:
    data = proton.Data()
    assert data.decode(octets) == len(octets)
    return data


def told(data: Any) -> Any:
    """The value that Proton stands at: its type, and its content as plain Python."""
    kind = NAMES[data.type()]
    if kind == "array":
        count, described, element = data.get_array()
        inside = told_inside(data)
        assert len(inside) == count + described
        # An array of nothing is a list of nothing to Proton, whatever its constructor.
        return kind, NAMES[element], inside
    if kind in ("list", "map", "described value"):
        return kind, told_inside(data)
    if kind in ("decimal32", "decimal64"):
        return kind, int(data.get_object())
    if kind == "uuid":
        return kind, None
    found = data.get_object()
    return kind, bytes(found) if kind in ("binary", "decimal128") else plain(found)


def told_inside(data: Any) -> list[Any]:
    data.enter()
    found = []
    while data.next():
        found.append(told(data))
    data.exit()
    return found


def plain(value: Any) -> Any:
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def ours(value: Any) -> Any:
    """The same of a value of ours."""
    kind = type_of(value)
    if kind == "array":
        return kind, value.type, [ours(each) for each in (*value.descriptors, *value.items)]
    if kind == "list":
        return kind, [ours(each) for each in value]
    if kind == "map":
        return kind, [ours(each) for pair in value.pairs for each in pair]
    if kind == "described value":
        return kind, [ours(value.descriptor), ours(value.value)]
    if kind in ("decimal32", "decimal64"):
        return kind, int.from_bytes(value)
    if kind == "uuid":
        return kind, None
    return kind, bytes(value) if kind in ("binary", "decimal128") else plain(value)


def known_to_proton(value: Any) -> bool:
    kind = type_of(value)
    if kind == "described value":
        simple = {type_of(value.descriptor), type_of(value.value)}.isdisjoint({"array", "described value"})
        return simple and type_of(value.descriptor) not in ("list", "map") and known_to_proton(value.value)
    if kind == "map":
        return all(known_to_proton(each) for pair in value.pairs for each in pair)
    return kind != "list" or all(known_to_proton(each) for each in value)


def agrees(value: Any) -> None:
    octets = encode(value)
    data = parsed(octets)
    data.rewind()
    assert data.next()
    # By their readable form: a float may be no number.
    assert repr(told(data)) == repr(ours(value))
    assert repr(ours(decode_whole(bytes(data.encode())))) == repr(ours(value))


@pytest.mark.parametrize("kind", sorted(of_type))
def test_every_type_is_read_and_written_as_by_proton(kind: str) -> None:
    @brief
    @given(of_type[kind])
    def alike(value: Any) -> None:
        agrees(value)

    alike()


@thorough
@given(values.filter(known_to_proton))
def test_nested_values_are_read_and_written_as_by_proton(value: Any) -> None:
    agrees(value)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_composite_is_read_and_written_as_by_proton(name: str) -> None:
    @brief
    @given(composites_of(CLASSES[name]))
    def alike(made: Composite) -> None:
        again, _ = decode_composite(bytes(parsed(made.encode()).encode()))
        assert type(again) is type(made)
        assert repr(ours(decode_whole(again.encode()))) == repr(ours(decode_whole(made.encode())))

    alike()


def test_small_values_take_the_same_octets() -> None:
    for made in benchmark.SAMPLES.values():
        for value in (each for each in made.values if type_of(each) not in ("", "map", "list")):
            assert parsed(encode(value)).encode() == encode(value)


def test_figures_are_measured_beside_proton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "REPEAT", 1)
    monkeypatch.setattr(timing, "NUMBER", 1)
    figures = list(benchmark.figures())
    names = [f"{how} {name}" for name in benchmark.SAMPLES for how in ("decode", "encode")]
    assert [each.what for each in figures] == names
    assert all(each.ours > 0 and each.theirs > 0 and each.peer == benchmark.PEER for each in figures)
    for made in benchmark.SAMPLES.values():
        assert amqp_frame(0, made).performative() == made
