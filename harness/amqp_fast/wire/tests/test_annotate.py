"""What a client tells of itself is blanked, however malformed it is; the rest stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp_fast.wire.annotate import blank_credentials
from harness.amqp_fast.wire.frames import RawFrame, frame
from harness.amqp_fast.wire.vocabulary import Channel, Connection

SECRET = b"sesame"
TOLD = Connection.Response("PLAIN", {"LOGIN": "ann", "PASSWORD": SECRET})
PAYLOAD = bytes((TOLD.code,)) + TOLD.encode()


def test_values_are_blanked_and_names_stay() -> None:
    blanked = blank_credentials(frame(TOLD).encode())
    assert len(blanked) == len(frame(TOLD).encode())
    assert b"LOGIN" in blanked
    assert b"PLAIN" in blanked
    assert b"ann" not in blanked
    assert SECRET not in blanked


def test_other_commands_stay_as_they_are() -> None:
    octets = frame(Channel.Open(1, 7, True)).encode()
    assert blank_credentials(octets) == octets


@pytest.mark.parametrize(
    "payload",
    [
        PAYLOAD[:1] + b"\xff" + PAYLOAD[2:],
        PAYLOAD[:1] + b"\x00" + PAYLOAD[2:],
        PAYLOAD[:7] + b"\xff\xff" + PAYLOAD[9:],
        PAYLOAD[:7] + b"\x00\x01" + PAYLOAD[9:],
        PAYLOAD[:-1],
        PAYLOAD + b"more",
        PAYLOAD.replace(b"PASSWORD", b"SECRETLY"),
    ],
    ids=[
        "mechanism too long", "no mechanism", "table too long", "table too short", "cut short", "goes on",
        "another name",
    ],
)  # fmt: skip
def test_of_what_is_malformed_nothing_is_told(payload: bytes) -> None:
    octets = RawFrame(payload).encode()
    blanked = blank_credentials(octets)
    assert len(blanked) == len(octets)
    assert SECRET not in blanked


@given(st.integers(0, len(PAYLOAD) - len(SECRET) - 1), st.integers(0, 255))
def test_no_octet_that_is_another_one_tells_it(place: int, octet: int) -> None:
    changed = bytearray(PAYLOAD)
    changed[place] = octet
    if changed[0] == TOLD.code or b"PASSWORD" in changed:
        assert SECRET not in blank_credentials(RawFrame(bytes(changed)).encode())
