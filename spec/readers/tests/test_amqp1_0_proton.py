"""The grammar and the encodings against an implementation by other hands, where it is installed."""

import re

import pytest

from spec.readers.amqp1_0 import Composite, Encoding, Restricted, grammar

proton = pytest.importorskip("proton")

GRAMMAR = grammar()
OWN_NAMES = {"boolean": "bool"}
# Something of each type a field can have, in the plainest encoding.
VALUES = {
    "boolean": b"\x41",
    "ubyte": b"\x50\x01",
    "ushort": b"\x60\x00\x01",
    "uint": b"\x70\x00\x00\x04\x00",
    "ulong": b"\x53\x01",
    "string": b"\xa1\x01x",
    "symbol": b"\xa3\x01x",
    "binary": b"\xa0\x01x",
    "map": b"\xc1\x01\x00",
    "*": b"\xa1\x01x",
}


def smallest(encoding: Encoding) -> bytes:
    """Give the octets of the least value: zero, the empty string, the empty list, an array of no nulls."""
    octets = bytes((encoding.code,))
    if encoding.category in ("fixed", "variable"):
        return octets + bytes(encoding.width)
    count = bytes(encoding.width) + (b"\x40" if encoding.category == "array" else b"")
    return octets + len(count).to_bytes(encoding.width, "big") + count


@pytest.mark.parametrize("code", GRAMMAR.constructors, ids=hex)
def test_encoding_is_read_alike(code: int) -> None:
    primitive, encoding = GRAMMAR.constructors[code]
    data = proton.Data()
    octets = smallest(encoding)
    assert data.decode(octets) == len(octets)
    data.next()
    assert proton.Data.type_names[data.type()] == OWN_NAMES.get(primitive.name, primitive.name)


@pytest.mark.parametrize("code", sorted(set(range(0x40, 0x100)) - set(GRAMMAR.constructors)), ids=hex)
def test_no_other_encoding_is_known(code: int) -> None:
    with pytest.raises(proton.DataException):
        proton.Data().decode(bytes((code,)) + bytes(16))


def value(name: str) -> bytes:
    kind = GRAMMAR.types.get(name)
    if isinstance(kind, Composite):
        return described(kind)
    if isinstance(kind, Restricted) and kind.choices and GRAMMAR.elementary(name) == "uint":
        return b"\x52\x01"
    return VALUES[GRAMMAR.elementary(name)]


def described(composite: Composite, carrying: tuple[str, bytes] = ("", b"")) -> bytes:
    """Encode the type with a value in each field; `carrying` puts its octets into the field of that name."""
    fields = [carrying[1] if each.name == carrying[0] else value(each.type) for each in composite.fields]
    items = b"".join(fields)
    head = b"\x00\x80" + composite.code.to_bytes(8, "big") + b"\xd0"
    return head + (len(items) + 4).to_bytes(4, "big") + len(fields).to_bytes(4, "big") + items


def trace(body: bytes, sasl: bool) -> str:
    """Give what Proton writes into its trace about a frame with this body."""
    lines: list[str] = []
    transport = proton.Transport(proton.Transport.SERVER)
    transport.trace(proton.Transport.TRACE_FRM)
    transport.tracer = lambda _, line: lines.append(line)
    if sasl:
        transport.sasl()
    transport.bind(proton.Connection())
    header = next(each.octets for each in GRAMMAR.headers if each.name == ("sasl" if sasl else "amqp"))
    kind = next(each.code for each in GRAMMAR.frame_types if each.name == ("sasl" if sasl else "amqp"))
    transport.push(header + (len(body) + 8).to_bytes(4, "big") + bytes((2, kind, 0, 0)) + body)
    return next(line for line in lines if "@" in line)


def seen(composite: Composite) -> str:
    """Trace `composite`: as a frame, or in a field of a performative that requires it."""
    if "frame" in composite.provides or "sasl-frame" in composite.provides:
        return trace(described(composite), "sasl-frame" in composite.provides)
    carrier, field = {
        "source": ("attach", "source"),
        "target": ("attach", "target"),
        "error": ("close", "error"),
    }.get(composite.name, ("transfer", "state"))
    around = GRAMMAR.types[carrier]
    assert isinstance(around, Composite)
    line = trace(described(around, (field, described(composite))), sasl=False)
    return line[line.index(f"{field}=") + len(field) + 1 :]


@pytest.mark.parametrize("composite", GRAMMAR.composites, ids=lambda each: each.name)
def test_composite_is_read_alike(composite: Composite) -> None:
    """Proton names what it reads out of its own tables: descriptor, code, and the fields in their order."""
    line = seen(composite)
    start = re.search(r"@([a-z\-]+)\((\d+)\) \[", line)
    assert start is not None
    assert (start[1], int(start[2])) == (composite.name, composite.code)
    inside = line[start.end() :]
    while (outer := re.sub(r"\[[^\[\]]*\]", "", inside)) != inside:  # what stands in brackets is nested
        inside = outer
    assert re.findall(r"([a-z\-]+)=", inside.split("]")[0]) == [each.name for each in composite.fields]
