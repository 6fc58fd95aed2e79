"""Differences that matter to nobody: what another honest 0-9-1 server might say, and another network do.

None of them may change a verdict. Each is legal by a sentence, which its name or its comment points to.
"""

from collections.abc import Callable, Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import FrameRule, Interposer, adds, forwards, rewrites
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.wire.frames import BODY, FRAME_MIN_SIZE, HEADER, HEARTBEAT, OVERHEAD, Frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Queue
from harness.peers.interposer import Passed
from harness.wire.units import DecodeError

SMALL = 64
"""Octets of a body that is cut to single ones; a longer one is cut in three."""
ROOM = FRAME_MIN_SIZE - OVERHEAD
"""Octets of a payload that fits into a frame whatever was agreed upon."""


def turned(table: Mapping[str, Any]) -> dict[str, Any]:
    """Reverse the entries of a field table, nested ones as well: they have no order."""
    entries = reversed(list(table.items()))
    return {name: turned(value) if isinstance(value, dict) else value for name, value in entries}


def around(*more: bytes) -> Callable[[Any], bytes]:
    """Put other names before and behind a list of names separated by spaces."""
    first, last = more
    return lambda names: b" ".join((first, names.encode() if isinstance(names, str) else bytes(names), last))


def pieces(payload: bytes) -> list[bytes]:
    """Cut a body into other frames: octet by octet if it is small."""
    step = 1 if len(payload) <= SMALL else len(payload) // 3 + 1
    return [payload[at : at + step] for at in range(0, len(payload), step)]


def _is_body(frame: Frame) -> bool:
    return frame.type == BODY and 0 < len(frame.payload) <= ROOM


def _is_any_body(frame: Frame) -> bool:
    return frame.type == BODY and len(frame.payload) > 0


def _in_pieces(frame: Frame) -> Passed:
    return [Frame(BODY, frame.channel, each) for each in pieces(frame.payload)], []


def _behind_an_empty_one(frame: Frame) -> Passed:
    return [Frame(BODY, frame.channel, b""), frame], []


def _has_headers(frame: Frame) -> bool:
    if frame.type != HEADER:
        return False
    try:
        return len(getattr(frame.content_header().properties, "headers", None) or ()) > 1
    except DecodeError:
        return False


def _with_turned_headers(frame: Frame) -> Passed:
    header = frame.content_header()
    properties: Any = header.properties
    properties.headers = turned(properties.headers)
    return [Frame(HEADER, frame.channel, header.encode())], []


OTHERWISE = "Nein, so geht das nicht."
"""A text that no check can know."""


HARMLESS: Mapping[str, Interposer] = {
    "other-order": rewrites(Connection.Start, server_properties=turned)
    + Interposer(frames=(FrameRule(_has_headers, True, _with_turned_headers),)),
    "more-properties": rewrites(
        Connection.Start, server_properties=lambda told: {"motto": "conformance", **told, "zeal": {"n": 1}}
    ),
    "more-mechanisms": rewrites(Connection.Start, mechanisms=around(b"X-FIRST", b"X-LAST")),
    "more-locales": rewrites(Connection.Start, locales=around(b"de_DE", b"fr_FR")),
    "other-reply-texts": rewrites(Connection.Close, reply_text=OTHERWISE)
    + rewrites(Channel.Close, reply_text=OTHERWISE)
    + rewrites(Basic.Return, reply_text=OTHERWISE),
    "other-body-frames": Interposer(frames=(FrameRule(_is_any_body, True, _in_pieces),)),
    "empty-body-frames": Interposer(frames=(FrameRule(_is_any_body, True, _behind_an_empty_one),)),
    "other-body-frames-sent": Interposer(frames=(FrameRule(_is_body, False, _in_pieces, type=BODY),)),
}
"""Interposers by name. What is sent by us is changed where its frames fit into the smallest limit only: a
larger one may be the point."""
OF_CLIENTS: Mapping[str, Interposer] = {
    "other-order-sent": forwards(Connection.StartOk, client_properties=turned)
    + Interposer(frames=(FrameRule(_has_headers, False, _with_turned_headers),)),
    "more-properties-sent": forwards(
        Connection.StartOk, client_properties=lambda told: {"motto": "conformance", **told, "zeal": {"n": 1}}
    ),
    "other-reply-texts-sent": forwards(Connection.Close, reply_text=OTHERWISE)
    + forwards(Channel.Close, reply_text=OTHERWISE),
    "more-heartbeats-sent": adds(
        sent_on(Queue.Declare), lambda _: Frame(HEARTBEAT, 0, b""), from_server=False
    ),
}
"""What clients may do otherwise, too."""
