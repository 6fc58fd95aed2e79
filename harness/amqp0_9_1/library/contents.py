"""Contents as they come: a method, a header, bodies (4.2.6), put together for one channel."""

from dataclasses import dataclass, field

from harness.amqp0_9_1.library.faults import Fault
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEADER, Frame, content_prefix
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, UNEXPECTED_FRAME, Basic
from harness.wire.units import DecodeError


@dataclass(slots=True)
class Content:
    """What a method carries; `header` is the payload of its header frame, as it came."""

    method: Method
    header: bytes = b""
    size: int = -1
    body: bytearray = field(default_factory=bytearray)

    @property
    def properties(self) -> Basic.Properties:
        """The properties. Raises DecodeError."""
        decoded = Basic.Properties.decode(self.header, 12)
        assert isinstance(decoded, Basic.Properties)
        return decoded

    @property
    def whole(self) -> bool:
        return 0 <= self.size <= len(self.body)

    def take(self, frame: Frame) -> None:
        """Take a frame that belongs to it. Raises Fault for one that does not."""
        if self.size < 0:
            self._take_header(frame)
        elif frame.type == HEADER:
            raise Fault(UNEXPECTED_FRAME, "a second content header")
        else:
            self.body += frame.payload
            if len(self.body) > self.size:
                raise Fault(UNEXPECTED_FRAME, "a body longer than its header announces")

    def _take_header(self, frame: Frame) -> None:
        if frame.type != HEADER:
            raise Fault(UNEXPECTED_FRAME, "a body before its content header")
        try:
            kind, _, size = content_prefix(frame.payload)
            kind.decode(frame.payload, 12)
        except DecodeError as failure:
            raise Fault(FRAME_ERROR, str(failure)) from None
        if kind.class_index != self.method.spec.class_index:
            raise Fault(FRAME_ERROR, "the content header is of another class than its method")
        self.header, self.size = frame.payload, size
