"""Credentials in SASL frames: blanked before anything is kept or shown."""

import re
from typing import Final

from harness.amqp1_0.wire.composites import CLASSES, Composite
from harness.amqp1_0.wire.decoding import forms
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import SASL, Frame, FrameReader, Unit
from harness.amqp1_0.wire.generated import CONSTRUCTORS, attribute, code_of
from harness.amqp1_0.wire.types import As, Described, Raw, Symbol, Ulong
from harness.wire.units import ANY_SIZE, DecodeError

SECRET_FIELDS: Final = {"sasl-init": "initial-response", "sasl-response": "response"}
"""Fields that carry credentials (SASL), by the performative they stand in."""


def _marks() -> list[bytes]:
    """Give how a performative with a secret may begin: its number or its symbol, in any width."""
    specs = [CLASSES[name].spec for name in SECRET_FIELDS]
    ways = [(Ulong(each.code), (code_of("ulong", 1), code_of("ulong", 8))) for each in specs]
    named = [(Symbol(each.descriptor), (code_of("symbol", 1), code_of("symbol", 4))) for each in specs]
    return [
        encode(Described(As(code, descriptor), Raw(b"")))
        for descriptor, codes in (*ways, *named)
        for code in codes
    ]


_MARK: Final = re.compile(b"|".join(map(re.escape, _marks())), re.DOTALL)
_MECHANISM: Final = re.compile(r"[A-Z0-9_-]{1,20}")


def blank_credentials(octets: bytes) -> bytes:
    """Replace the response in sasl-init or sasl-response by asterisks; the length stays.

    `octets` may hold several units, whole or not; what was sent in one go is to be given in one go. What is
    malformed may carry the response anywhere: there everything behind the descriptor is blanked.
    """
    mark = _MARK.search(octets)
    if mark is None:
        return octets
    done = bytearray()
    for raw, unit in FrameReader(limit=ANY_SIZE).feed(octets):
        if mark.start() < len(done) + len(raw):
            blanked = _whole(raw, unit) if mark.end() <= len(done) + len(raw) else None
            if blanked is None:
                # The size may be part of what is wrong: the secret may reach beyond this unit.
                break
            raw = blanked
        done += raw
        mark = _MARK.search(octets, len(done))
        if mark is None:
            return bytes(done) + octets[len(done) :]
    return bytes(done) + octets[len(done) : mark.end()] + b"*" * (len(octets) - mark.end())


def _whole(raw: bytes, unit: Unit) -> bytes | None:
    if not isinstance(unit, Frame) or _MARK.search(unit.extended):
        return None
    try:
        performative, payload = unit.read()
    except DecodeError:
        return None
    if performative is None:
        return None
    if unit.type != SASL:
        # A message may hold these octets; in a frame that is no SASL frame they are none of ours.
        return raw
    secret = SECRET_FIELDS.get(performative.type_name)
    if secret is None or payload or not _well_formed(performative):
        return None
    place = performative.names.index(attribute(secret))
    items = forms(unit.body).value.value.value
    if place >= len(items) or performative.values[place] is None:
        return raw
    start = len(raw) - len(unit.body) + items[place].offset + 1 + CONSTRUCTORS[items[place].code].width
    end = len(raw) - len(unit.body) + items[place].offset + items[place].length
    return b"".join((raw[:start], b"*" * (end - start), raw[end:]))


def _well_formed(performative: Composite) -> bool:
    if performative.unknown or any(performative.breaches()):
        return False
    others = dict(zip(performative.names, performative.values, strict=True))
    named = _MECHANISM.fullmatch(others.get("mechanism", "X")) is not None
    return named and str(others.get("hostname") or "").isprintable()
