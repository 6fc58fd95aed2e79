"""Which frames a deviation acts on, where no method can be read out of them or it is about their place."""

from collections.abc import Callable

from harness.amqp0_9_1.peer.turn import OWN
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import BODY, HEADER, METHOD, Frame
from harness.amqp0_9_1.wire.vocabulary import CODEC, Connection
from harness.peers.interposer import always
from harness.wire.units import DecodeError

Matching = Callable[[Frame], bool]


def sent_on(method: type[Method], fits: Callable[[int], bool] = always) -> Matching:
    """Match frames with the method, readable or not, on a channel whose number fits, or on any."""
    begun = method.key.to_bytes(4)
    return lambda frame: frame.type == METHOD and frame.payload.startswith(begun) and fits(frame.channel)


def sent_whole(method: type[Method], fits: Callable[[int], bool]) -> Matching:
    """Match these frames and those of their content: then all content on such a channel."""
    of_method = sent_on(method, fits)
    carries: bool = method.spec.content
    return lambda frame: (
        of_method(frame) or (carries and frame.type in (HEADER, BODY) and fits(frame.channel))
    )


def unreadable(method: type[Method]) -> Matching:
    """Match frames with the method whose arguments cannot be read."""
    of_method = sent_on(method)

    def matches(frame: Frame) -> bool:
        if not of_method(frame):
            return False
        try:
            frame.method()
        except DecodeError:
            return True
        return False

    return matches


def unknown(class_index: int) -> Matching:
    """Match method frames of the class with an index that no method of 0-9-1 itself has."""

    def matches(frame: Frame) -> bool:
        if frame.type != METHOD or int.from_bytes(frame.payload[:2]) != class_index:
            return False
        try:
            return CODEC.method_class(frame.payload).full_name not in OWN
        except DecodeError:
            return True

    return matches


START, TUNE, OPEN_OK = map(sent_on, (Connection.Start, Connection.Tune, Connection.OpenOk))
"""What the server says before a connection is open: its steps at the door."""


def on_channel(number: int) -> Callable[[Frame], Frame]:
    return lambda frame: Frame(frame.type, number, frame.payload)


def next_channel(frame: Frame) -> Frame:
    return Frame(frame.type, frame.channel + 1, frame.payload)


def without_its_last(octets: int) -> Callable[[Frame], Frame]:
    """Cut so many octets off a frame's payload, and give its size as what is left."""
    return lambda frame: Frame(frame.type, frame.channel, frame.payload[:-octets])


def with_more(octets: bytes) -> Callable[[Frame], Frame]:
    """Add octets behind what a frame's payload should hold."""
    return lambda frame: Frame(frame.type, frame.channel, frame.payload + octets)


def with_properties(octets: bytes) -> Callable[[Frame], Frame]:
    """Put these octets in place of the server's properties in Start."""

    def rewritten(frame: Frame) -> Frame:
        behind = PROPERTIES + 4 + int.from_bytes(frame.payload[PROPERTIES : PROPERTIES + 4])
        return Frame(frame.type, frame.channel, frame.payload[:PROPERTIES] + octets + frame.payload[behind:])

    return rewritten


def before_it(octets: bytes) -> Callable[[Frame], bytes]:
    return lambda frame: octets + frame.encode()


PROPERTIES = 6
"""Where the server's properties stand in Start: behind class, method and version."""
