"""Servers that mean harm to a client of AMQP/Fast: as data, and in place of a transport.

The latter is mostly agreeable, so that the client gets far, and says anything then.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat

from harness.amqp_fast.broken.fakes import CHALLENGE, TUNE, agree, answered
from harness.amqp_fast.trials import odd
from harness.amqp_fast.wire.frames import ESCAPE, FrameReader, RawFrame, frame
from harness.amqp_fast.wire.vocabulary import OK, Connection, Handle, MessageHead
from harness.trials import hostile_transport
from harness.trials.fuzz import Draws
from harness.trials.hostile import ANYWHERE, PIECE, Hostile, for_ever, once

OPENED = bytes((Connection.Reply.code,)) + (1).to_bytes(2)
"""What an honest server's reply to the first confirm tag begins with: behind it the handshake is done."""
MOST = 0xFFFFFFFF
"""The largest size there is."""
_CODE = bytes((Handle.Notify.code,))
_HEAD = MessageHead().encode() + bytes(1024)
_NOTIFY = frame(Handle.Notify(1, fragment_size=len(_HEAD)), _HEAD)
_PART = frame(Handle.Notify(1, partial=True, fragment_size=len(_HEAD)), _HEAD)


def _drip() -> Iterator[bytes]:
    while True:
        for octet in frame(CHALLENGE).encode():
            yield bytes((octet,))


def _huge() -> Iterator[bytes]:
    yield RawFrame(_CODE, size=MOST).encode()
    yield from repeat(bytes(PIECE))


def _huge_fragment() -> Iterator[bytes]:
    yield frame(Handle.Notify(1, fragment_size=MOST)).encode()
    yield from repeat(bytes(PIECE))


HOSTILE: Mapping[str, Hostile] = {
    **ANYWHERE,
    "amqp-0-9-1": Hostile("speaks AMQP 0-9-1 only", once(b"AMQP\x00\x00\x09\x01"), ends="fin"),
    "drip": Hostile("says one octet per second", _drip, pace=1.0),
    "challenges": Hostile("challenges for ever", for_ever(frame(CHALLENGE))),
    "tunes": Hostile("tunes for ever", for_ever(frame(TUNE))),
    "pings": Hostile("pings for ever", for_ever(frame(Connection.Ping()))),
    "messages": Hostile("sends messages nobody asked for, for ever", for_ever(_NOTIFY)),
    "endless-message": Hostile("sends one message without end", for_ever(_PART)),
    "4-gib": Hostile("announces a frame of 4 GiB and begins it", _huge),
    "4-gib-fragment": Hostile("announces a fragment of 4 GiB and begins it", _huge_fragment),
}
"""The hostile peers by name."""

ENDLESS = (
    frame(CHALLENGE).encode(),
    frame(Connection.Ping()).encode(),
    frame(Connection.Close(OK)).encode(),
    _NOTIFY.encode(),
    _PART.encode(),
    ESCAPE.to_bytes(2),
    b"A",
)
"""What it may say again and again."""


class HostileTransport(hostile_transport.HostileTransport):
    """A transport whose other end decides by `draws`, and is mostly a fake that agrees to everything."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws, odd.unit, ENDLESS, FrameReader(initiated=False), partial(answered, agree))
