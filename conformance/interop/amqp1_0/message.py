"""Messages of 1.0: sections from what a case asks, and what their octets say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any
from zlib import crc32

from conformance.interop.amqp1_0.values import Reader, Unread, encode
from conformance.interop.comparing import FADING, SECTIONS, fields, octets_of, ordered
from conformance.interop.outcomes import Form

HEADER, DELIVERY, MESSAGE, PROPERTIES, APPLICATION, DATA, SEQUENCE, VALUE, FOOTER = range(0x70, 0x79)
FIELDS: Mapping[int, tuple[str, tuple[str, ...]]] = {
    HEADER: ("header", ("durable", "priority", "ttl", "first-acquirer", "delivery-count")),
    PROPERTIES: (
        "properties",
        (
            "message-id", "user-id", "to", "subject", "reply-to", "correlation-id", "content-type",
            "content-encoding", "absolute-expiry-time", "creation-time", "group-id", "group-sequence",
            "reply-to-group-id",
        ),
    ),
}  # fmt: skip
TABLES = {MESSAGE: "annotations", APPLICATION: "application"}
SYMBOLS = ("content-type", "content-encoding")
TYPES: Mapping[str, str] = {
    "priority": "u8", "ttl": "u32", "delivery-count": "u32", "group-sequence": "u32", "user-id": "bin",
    "absolute-expiry-time": "time", "creation-time": "time", "content-type": "sym", "content-encoding": "sym",
}  # fmt: skip
"""The types of fields that have one in the standard, so that a case can give plain values."""


def form_of(message: Mapping[str, Any]) -> Form:
    """Encode a message as a case asks for it. Raises ValueError."""
    parts = []
    for code, (section, names) in FIELDS.items():
        if section in message:
            values = [typed(name, message[section].get(name)) for name in names]
            while values and values[-1] is None:
                values.pop()
            parts.append((code, _section(code, encode({"list": values}))))
    for code, section in TABLES.items():
        if section in message:
            parts.append((code, _section(code, encode(message[section]))))
    ordered = [octets for _, octets in sorted(parts)]
    return Form(b"", b"".join((*ordered, _body(message.get("body", "")))))


def typed(name: str, value: Any) -> Any:
    """Give the value of a field in the type that the standard has for it."""
    if name not in TYPES or value is None or isinstance(value, Mapping):
        return value
    return {TYPES[name]: value if isinstance(value, str) else str(value)}


def _section(code: int, octets: bytes) -> bytes:
    return b"\x00\x53" + bytes((code,)) + octets


def _body(body: Any) -> bytes:
    octets = octets_of(body)
    if octets is not None:
        return _section(DATA, b"\xb0" + len(octets).to_bytes(4) + octets)
    if "sequence" in body:
        return _section(SEQUENCE, encode({"list": body["sequence"]}))
    return _section(VALUE, encode(body["value"]))


def with_value(message: Mapping[str, Any], octets: bytes) -> Form:
    """Give the form of a message whose value these octets are, constructor first."""
    del message
    return Form(b"", _section(VALUE, octets))


def readings(form: Form) -> list[dict[str, Any]]:
    """Read a message; there is only one way. Raises Unread."""
    told: dict[str, Any] = {}
    data = b""
    for code, value, _ in sections(form.body):
        if code in FIELDS:
            section, names = FIELDS[code]
            told[section] = {
                name: each for name, each in zip(names, value["list"], strict=False) if each is not None
            }
        elif code in TABLES:
            told[TABLES[code]] = value
        elif code == DATA:
            data += value
            told |= {"size": len(data), "crc32": crc32(data)}
        elif code == SEQUENCE:
            told["sequence"] = [*told.get("sequence", ()), *value["list"]]
        elif code == VALUE:
            told["value"] = value
    return [told]


def sections(octets: bytes) -> Iterator[tuple[int, Any, bytes]]:
    """Read sections one by one: the code of each, what it holds, and the octets of that. Raises Unread.

    Data is given as it is.
    """
    reader = Reader(octets)
    while reader.at < len(octets):
        if reader.take(1) != b"\0":
            raise Unread(f"no section begins at {reader.at - 1}")
        descriptor, begun = reader.value(), reader.at
        is_data = descriptor == {"u64": str(DATA)}
        value = reader.binary() if is_data else reader.value()
        if not isinstance(descriptor, Mapping) or "u64" not in descriptor:
            raise Unread("a section is described by a symbol")
        code = int(descriptor["u64"])
        if code in FIELDS and (not isinstance(value, Mapping) or "list" not in value):
            raise Unread("a section is no list")
        yield code, value, octets[begun : reader.at]


def key(form: Form, message: Mapping[str, Any], exact: bool) -> str:
    """Name a form: the same name for keys in another order, another one for other encodings of values.

    What was not asked for counts only where `exact`, and then by its name alone; an empty section, too.
    """
    digest = sha256()
    try:
        told = readings(form)[0]
        body = [octets for code, _, octets in sections(form.body) if code in (DATA, SEQUENCE, VALUE)]
    except (Unread, KeyError, TypeError):
        return sha256(form.body).hexdigest()[:12]
    for kind in ("value", "sequence"):
        if kind in told:  # a map has no order, an encoding counts
            digest.update(json.dumps([kind, ordered(told[kind]), sorted(b"".join(body))]).encode())
            body = []
    for octets in body:
        digest.update(len(octets).to_bytes(8) + sha256(octets).digest())
    written = {TABLES[code]: _entries(octets) for code, _, octets in sections(form.body) if code in TABLES}
    for section in SECTIONS:
        asked = {name for name, _ in fields(message.get(section))}
        found = fields(told.get(section))
        spelled = written.get(section, [""] * len(found))
        known = sorted(
            [name, "" if name in FADING else json.dumps(value), octets]
            for (name, value), octets in zip(found, spelled, strict=True)
            if name in asked
        )
        others = [section in told, *sorted(name for name, _ in found)] if exact else []
        digest.update(json.dumps([section, known, others]).encode())
    return digest.hexdigest()[:12]


def _entries(octets: bytes) -> list[str]:
    """Give the octets of each value of a map."""
    reader, found = Reader(octets), []
    for _ in range(reader.count() // 2):
        reader.value()
        begun = reader.at
        reader.value()
        found.append(octets[begun : reader.at].hex())
    return found


def asked(message: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is asked for with the types that the standard has for fields."""
    typed_ones = {
        section: {name: typed(name, value) for name, value in message[section].items()}
        for section, _ in FIELDS.values()
        if section in message
    }
    return {**message, **typed_ones}
