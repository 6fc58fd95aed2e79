"""Frames to events: what a frame is, before any row decides what to do about it."""

from harness.amqp1_0.peer.events import (
    AmqpHeader,
    EmptyFrame,
    ForeignHeader,
    HeaderReceived,
    Invalid,
    InvalidOpen,
    Malformed,
    Oversized,
    SaslHeader,
    Unacceptable,
    Undecodable,
    Undefined,
)
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.wire.composites import Composite, described_by
from harness.amqp1_0.wire.decoding import decode
from harness.amqp1_0.wire.encoding import type_of
from harness.amqp1_0.wire.frames import AMQP, PROTOCOL_HEADER, SASL, SASL_HEADER
from harness.amqp1_0.wire.performatives import Open
from harness.amqp1_0.wire.types import Described, Map, Symbol
from harness.peers.events import Event
from harness.wire.units import DecodeError, Garbage

_PROVIDED = {AMQP: "frame", SASL: "sasl-frame"}


def read_header(octets: bytes) -> HeaderReceived:
    """Say which protocol header these octets are."""
    known = {PROTOCOL_HEADER: AmqpHeader, SASL_HEADER: SaslHeader}
    return known.get(octets, ForeignHeader)(octets)


def read_garbage(garbage: Garbage) -> Unacceptable:
    """Say why octets are no frame: its header cannot be right, or it is too large."""
    if garbage.delimited or announced(garbage) < 8:
        return Malformed(garbage.why)
    return Oversized(garbage.why)


def announced(garbage: Garbage) -> int:
    """Give the size that octets which are no frame announce."""
    return int.from_bytes(garbage.octets[:4])


def read_body(body: bytes, layer: int, policy: Policy) -> tuple[Event | Composite, bytes]:
    """Give the event that the body of a frame is, and the payload behind its performative."""
    if not body:
        return EmptyFrame(), b""
    try:
        value, behind = decode(body)
    except DecodeError as failure:
        return Undecodable(str(failure)), b""
    if not isinstance(value, Described):
        return Undecodable(f"a {type_of(value)} stands where a performative must"), b""
    kind = described_by(value.descriptor)
    if kind is None or _PROVIDED[layer] not in kind.spec.provides:
        return Undefined(f"{str(value.descriptor)[:40]} describes no performative"), b""
    if not isinstance(value.value, tuple):
        return Undecodable(f"{kind.type_name} is a {type_of(value.value)}, not a list"), b""
    performative = kind.of(value.value, value.descriptor)
    return _checked(performative, policy), body[behind:]


def _checked(performative: Composite, policy: Policy) -> Event | Composite:
    invalid = InvalidOpen if isinstance(performative, Open) else Invalid
    if performative.unknown:
        extra = len(performative.unknown)
        return invalid(f"{performative.type_name} has {extra} fields too many", performative, False)
    for breach in performative.breaches():
        if breach.field == "properties" and policy.property_keys == "ignore" and _is_map(performative):
            continue
        if breach.field == "error.condition" and policy.error_conditions == "missing":
            continue
        missing = "mandatory" in breach.what and "." not in breach.field
        return invalid(f"{performative.type_name}, field {breach.field} {breach.what}", performative, missing)
    return performative


def _is_map(performative: Composite) -> bool:
    return isinstance(performative.carried("properties"), Map)


def keys_are_at_fault(event: Invalid) -> bool:
    """Say whether properties are a map with a key that is no symbol (2.8.13)."""
    given = event.performative
    properties = given.carried("properties") if "properties" in given.names else None
    return isinstance(properties, Map) and any(type(key) is not Symbol for key, _ in properties.pairs)
