"""Faults of clients, as interposers on their side of the wire."""

from __future__ import annotations

from collections.abc import Callable

from harness.amqp0_9_1.broken.deviations import FrameRule, Interposer
from harness.amqp0_9_1.broken.frame_faults import Matching, sent_on
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEADER, Frame


def client_spoils(matches: Matching, spoilt: Callable[[Frame], Frame | bytes]) -> Interposer:
    """Changes frames that the client sends."""
    return Interposer(frames=(FrameRule(matches, False, lambda frame: ([spoilt(frame)], [])),))


def client_adds(matches: Matching, added: Callable[[Frame], Frame]) -> Interposer:
    """Sends another frame behind frames of the client's."""
    return Interposer(frames=(FrameRule(matches, False, lambda frame: ([frame, added(frame)], [])),))


def client_heads(change: Callable[[bytes], bytes]) -> Interposer:
    """Sends content headers with other octets in them."""
    return client_spoils(
        lambda frame: frame.type == HEADER, lambda frame: Frame(HEADER, frame.channel, change(frame.payload))
    )


def sends(method: type[Method]) -> Matching:
    """Match frames with the method, on any channel."""
    return sent_on(method, lambda _: True)
