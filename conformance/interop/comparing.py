"""Typed values and messages compared: the same, the same in another type, or changed.

Values are those of the contract of shims (ci/clients/README.md). Fields of a map have no order.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from zlib import crc32

from conformance.interop.outcomes import Finding, Outcome

INTEGERS = frozenset({"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "int"})
FLOATS = {"f32": ">f", "f64": ">d"}
TEXTS = frozenset({"text", "short", "sym", "char"})
WITHOUT_A_LIKE = frozenset({"bool", "null", "map", "list", "array", "desc"})
"""Types whose values are no values of another type."""
SECTIONS = ("properties", "header", "application", "annotations")
NO_VALUE = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, struct.error)
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "header": {
        "durable": False,
        "priority": {"u8": "4"},
        "first-acquirer": False,
        "delivery-count": {"u32": "0"},
    }
}
"""What a field of a section means that is not there."""
PER_HOP = frozenset({"first-acquirer", "delivery-count"})
"""Fields that say how a message comes from who delivers it, not what it is."""
FADING = frozenset({"ttl"})
"""Fields that get less with the time that a message waits."""
WAITED = 60_000
"""Milliseconds that it waits at most."""
EMPTY: Mapping[str, Any] = {"map": []}
"""What means nothing more than its absence, unless a case is about just that."""
SHOWN = 80
"""Characters of a value in a sentence."""


def tag(value: Any) -> str:
    """Name the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "f64"
        case str():
            return "text"
        case Mapping() if len(value) == 1:
            return str(next(iter(value)))
    return "?"


def held(value: Any) -> Any:
    """Give what a value holds, without its type."""
    return next(iter(value.values())) if isinstance(value, Mapping) else value


def plain(value: Any) -> Any:
    """Give what can be compared with values of other types: a number, octets, or the value itself."""
    kind, what = tag(value), held(value)
    if kind in INTEGERS or kind == "time":
        return Decimal(int(what))
    if kind in FLOATS:
        number = what if isinstance(what, float) else struct.unpack(FLOATS[kind], bytes.fromhex(what))[0]
        return "NaN" if math.isnan(number) else _signed(number)
    if kind == "dec":
        return Decimal(f"{what[1]}E{-int(what[0])}")
    if kind in TEXTS:
        return what.encode("utf-8", "surrogatepass")
    if kind == "bin":
        return bytes.fromhex(what)
    return what.lower() if isinstance(what, str) else what


def _signed(number: float) -> Any:
    if math.isinf(number):
        return str(number)
    return "-0" if number == 0 and math.copysign(1.0, number) < 0 else Decimal(number)


def compare(before: Any, after: Any, at: str = "", loose: bool = False) -> Finding:
    """Compare two values; `loose`, where what is told later need not say which type it is."""
    one, other = tag(before), tag(after)
    if {one, other} <= {"list", "array"}:
        return _rows(before, after, at, loose)
    if one == other == "map":
        return _maps(held(before), held(after), at, loose)
    if one == other == "desc":
        pairs = zip(("descriptor", "value"), held(before), held(after), strict=True)
        return _all([compare(a, b, f"{at}.{name}", loose) for name, a, b in pairs])
    if one == other and one not in FLOATS and one != "dec":
        equal = (plain(before) == plain(after) and held(before) == held(after)) or _alike(one, before, after)
        return Finding() if equal else _differs(Outcome.CHANGED, at, before, after)
    if not _equal(one, other, before, after):
        return _differs(Outcome.CHANGED, at, before, after)
    if one == other:
        alike = one != "dec" or held(before) == held(after)
    else:
        alike = {one, other} <= INTEGERS and "int" in (one, other)
    return Finding() if alike or loose else _differs(Outcome.WIDENED, at, before, after)


def _equal(one: str, other: str, before: Any, after: Any) -> bool:
    """Say whether values of the types `one` and `other` are the same value."""
    if not {one, other}.isdisjoint(WITHOUT_A_LIKE):
        return False
    try:
        return bool(plain(before) == plain(after))
    except (ValueError, TypeError, struct.error, ArithmeticError):
        return False


def _alike(kind: str, before: Any, after: Any) -> bool:
    return kind in INTEGERS | {"time", "uuid", "bin", "d32", "d64", "d128"} and plain(before) == plain(after)


def _rows(before: Any, after: Any, at: str, loose: bool) -> Finding:
    one, other = elements(before), elements(after)
    if len(one) != len(other):
        return _differs(Outcome.CHANGED, at, before, after)
    found = _all(
        [compare(a, b, f"{at}[{n}]", loose) for n, (a, b) in enumerate(zip(one, other, strict=True))]
    )
    if tag(before) == tag(after) == "array" and held(before)[0] != held(after)[0] and not loose:
        return found.joined(_differs(Outcome.WIDENED, at, before, after))
    if tag(before) == tag(after) or loose:
        return found
    return found.joined(_differs(Outcome.WIDENED, at, before, after))


def elements(row: Any) -> Sequence[Any]:
    """Give what a list or an array holds, each with its type."""
    what = held(row)
    if tag(row) == "list":
        return list(what)
    kind, values = what
    bare = kind in ("bool", "null", "text")
    return [each if bare or isinstance(each, Mapping) else {kind: each} for each in values]


def _maps(before: Sequence[Any], after: Sequence[Any], at: str, loose: bool) -> Finding:
    left = list(after)
    found = []
    for key, value in before:
        same = [each for each in left if compare(key, each[0], loose=loose).outcome is not Outcome.CHANGED]
        if not same:
            found.append(Finding(Outcome.CHANGED, f"{at}.{_key(key)} is gone"))
            continue
        left.remove(same[0])
        found.append(compare(key, same[0][0], f"{at}.key {_key(key)}", loose))
        found.append(compare(value, same[0][1], f"{at}.{_key(key)}", loose))
    found += [Finding(Outcome.CHANGED, f"{at}.{_key(key)} is new") for key, _ in left]
    return _all(found)


def _key(key: Any) -> str:
    return str(held(key))[:SHOWN]


def _all(findings: Sequence[Finding]) -> Finding:
    whole = Finding()
    for each in findings:
        whole = whole.joined(each)
    return whole


def _differs(outcome: Outcome, at: str, before: Any, after: Any) -> Finding:
    return Finding(outcome, f"{at}: {shown(before)} became {shown(after)}".removeprefix(": "))


def shown(value: Any) -> str:
    """Write a value in one short line, with its type."""
    what = held(value)
    text = f"{what}" if tag(value) in ("null", "bool") else f"{tag(value)} {what}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def octets_of(body: Any) -> bytes | None:
    """Give the octets of a body as a case has it; None for one of typed values."""
    if isinstance(body, str):
        return body.encode()
    if "fill" in body:
        count = int(body["fill"])
        return (bytes(range(251)) * (count // 251 + 1))[:count]
    return None


def described(message: Mapping[str, Any]) -> dict[str, Any]:
    """Give a message as a case asks for it in the words in which one is told: octets by size and crc32."""
    body = message.get("body", "")
    octets = octets_of(body)
    told = {"size": len(octets), "crc32": crc32(octets)} if octets is not None else dict(body)
    return told | {name: message[name] for name in SECTIONS if name in message}


def compare_messages(
    before: Mapping[str, Any], after: Mapping[str, Any], exact: bool, loose: bool = False
) -> Finding:
    """Compare two messages as they are told; what is added to one is a change only where `exact`.

    What is told may be no value of the contract at all.
    """
    try:
        return _compare_messages(before, after, exact, loose)
    except NO_VALUE as failure:
        return Finding(Outcome.CRASHED, f"what was told is no value: {type(failure).__name__} {failure}")


def _compare_messages(
    before: Mapping[str, Any], after: Mapping[str, Any], exact: bool, loose: bool
) -> Finding:
    found = [_bodies(before, after, loose)]
    for section in SECTIONS:
        found.append(_sections(section, before.get(section), after.get(section), exact, loose))
    if before.get("redelivered") is not None and after.get("redelivered") is not None:
        found.append(compare(before["redelivered"], after["redelivered"], "redelivered"))
    return _all(found)


def _bodies(before: Mapping[str, Any], after: Mapping[str, Any], loose: bool) -> Finding:
    for kind in ("value", "sequence"):
        if kind in before and kind in after:
            one, other = before[kind], after[kind]
            if kind == "sequence":
                one, other = {"list": one}, {"list": other}
            return compare(one, other, "body", loose)
    sizes = [(each.get("size"), each.get("crc32")) for each in (before, after)]
    kinds = [
        next(
            (k for k in ("value", "sequence") if k in each),
            f"{each['size']} octets" if "size" in each else "none",
        )
        for each in (before, after)
    ]
    if sizes[0] == sizes[1] and kinds[0] == kinds[1]:
        return Finding()
    return Finding(
        Outcome.CHANGED,
        f"body: {kinds[0]} became {kinds[1]}" + (", other ones" if kinds[0] == kinds[1] else ""),
    )


def _sections(section: str, before: Any, after: Any, exact: bool, loose: bool) -> Finding:
    one, other = (dict(fields(each)) for each in (before, after))
    absent = DEFAULTS.get(section, {})
    found = []
    for name in [*one, *(each for each in other if each not in one)]:
        at = f"{section}.{name}"
        if name not in one and (name in PER_HOP or not exact):
            continue
        a, b = one.get(name, absent.get(name)), other.get(name, absent.get(name))
        if a is None and name not in one:
            found.append(Finding(Outcome.CHANGED, f"{at} is new: {shown(b)}"))
        elif b is None and name not in other:
            if exact or a != EMPTY:
                found.append(Finding(Outcome.CHANGED, f"{at} is gone"))
        elif name not in FADING or not faded(a, b):
            found.append(compare(a, b, at, loose))
    return _all(found)


def faded(before: Any, after: Any) -> bool:
    """Say whether a time is what is left of another one."""
    numbers = [plain(each) for each in (before, after)]
    return all(isinstance(each, Decimal) for each in numbers) and abs(numbers[0] - numbers[1]) < WAITED


def fields(section: Any) -> list[tuple[str, Any]]:
    """Give the fields of a section by name; those of one that is a map are its keys."""
    if section is None:
        return []
    if set(section) == {"map"}:
        return [(_key(key), value) for key, value in section["map"]]
    return list(section.items())


def ordered(value: Any) -> Any:
    """Give a value with the fields of its maps in one order, as they have none."""
    if isinstance(value, Mapping):
        if set(value) == {"map"}:
            return {"map": sorted(([k, ordered(v)] for k, v in value["map"]), key=json.dumps)}
        return {name: ordered(each) for name, each in value.items()}
    return [ordered(each) for each in value] if isinstance(value, list) else value
