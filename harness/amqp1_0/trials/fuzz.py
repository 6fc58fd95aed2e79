"""Fuzz targets of AMQP 1.0: every decoder, the interposer and the client.

`python -m harness.amqp1_0.trials.fuzz [NAME] [--seconds N]` runs them under atheris, see
`harness.trials.fuzz`.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from harness.amqp1_0.client.credentials import blank_credentials
from harness.amqp1_0.trials import odd
from harness.amqp1_0.trials.fuzz_client import client, interposed, link
from harness.amqp1_0.wire.annotate import annotate, says
from harness.amqp1_0.wire.composites import decode_composite
from harness.amqp1_0.wire.decoding import Form, decode, exact, forms, plain
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import Frame, FrameReader, RawFrame, Unit, sasl_frame
from harness.amqp1_0.wire.performatives import SaslInit, SaslResponse
from harness.amqp1_0.wire.types import Symbol
from harness.trials.fuzz import Draws, Target, main
from harness.trials.fuzz_stream import SECRET, WORD, cut_alike, damaged_around, explained, only_blanks
from harness.wire.units import DecodeError, Garbage


def frames(data: bytes) -> None:
    """Check that a stream is cut alike however it arrives, and no octet is lost or kept beyond the limit."""
    draws = Draws(data)
    limit = draws.one_of((8, 64, 4096, 1 << 20))
    odd_units, sizes = draws.flag(), draws.piece()
    stream = b"".join(odd.unit(draws) for _ in range(9)) if odd_units else draws.rest()
    for raw, unit in cut_alike(FrameReader, limit, stream, sizes, _last):
        if isinstance(unit, Frame):
            assert unit.encode() == raw
            with suppress(DecodeError):
                unit.read()


def _last(unit: Unit) -> bool:
    return isinstance(unit, Garbage) and not unit.delimited


def _refusal(read: Callable[[], Any]) -> tuple[Any, str]:
    try:
        return read(), ""
    except DecodeError as failure:
        return None, str(failure)


def value(data: bytes) -> None:
    """Check that a value is read or refused alike in all three views, and sent again in either way."""
    draws = Draws(data)
    if draws.flag():
        data = encode(odd.value(draws))
    found, refusal = _refusal(lambda: decode(data))
    form, other = _refusal(lambda: forms(data))
    assert refusal == other
    if refusal:
        assert _refusal(lambda: exact(data))[1] == refusal
        return
    read, behind = found
    assert isinstance(form, Form)
    assert (form.offset, form.length) == (0, behind)
    assert repr(plain(form)) == repr(read)
    view = exact(data[:behind])
    assert repr(plain(view)) == repr(read)
    assert encode(view) == data[:behind]
    assert repr(decode(encode(read))[0]) == repr(read)


def performative(data: bytes) -> None:
    """Check the same of composites; mistakes are named, attributes can be read."""
    draws = Draws(data)
    if draws.flag():
        data = odd.composite(draws, draws.one_of(odd.PERFORMATIVES)).encode()
    with suppress(DecodeError):
        read, behind = decode_composite(data)
        assert 0 < behind <= len(data)
        again, _ = decode_composite(read.encode())
        assert repr(again) == repr(read)
        assert repr(again.elements()) == repr(read.elements())
        assert repr([*again.breaches()]) == repr([*read.breaches()])
        for name in read.names:
            assert getattr(read, name) is not None or read.carried(name) is None


def spans(data: bytes) -> None:
    """Check that anything is told in one short line and explained octet by octet, none left out."""
    draws = Draws(data)
    if draws.flag():
        data = odd.unit(draws)
    explained(data, says, annotate, shared=False)


def credentials(data: bytes) -> None:
    """Check that blanking keeps the length, changes nothing twice, and brings no damaged password out."""
    only_blanks(blank_credentials, data)
    if WORD.encode() in data:
        return
    draws = Draws(data)
    carriers = (SaslInit("PLAIN", SECRET, "host"), SaslInit("PLAIN", SECRET), SaslResponse(SECRET))
    carrier = draws.one_of(carriers)
    if draws.flag():
        carrier = carrier.sent_as(descriptor=Symbol(carrier.spec.descriptor))
    first = 8 + len(encode(carrier.described().descriptor)) + 1
    octets = damaged_around(draws, sasl_frame(carrier).encode(), kept=range(8, first))  # its descriptor
    whole = octets[: draws.number(2) or None] + draws.piece()
    assert WORD.encode() not in blank_credentials(whole)
    assert WORD not in says(whole) + str(list(annotate(whole)))
    lying = RawFrame(octets[8:], size=draws.number(), doff=draws.number(), type=draws.number() % 3)
    assert WORD.encode() not in blank_credentials(lying.encode())


TARGETS: Mapping[str, Target] = {
    "frames": frames,
    "value": value,
    "performative": performative,
    "spans": spans,
    "credentials": credentials,
    "interposed": interposed,
    "link": link,
    "client": client,
}

if __name__ == "__main__":
    sys.exit(main("harness.amqp1_0.trials.fuzz"))
