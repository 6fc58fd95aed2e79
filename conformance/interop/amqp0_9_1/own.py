"""Our own end at a 0-9-1 broker: it declares queues, and publishes and takes octets as they are."""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from typing import Any

from conformance.interop.amqp0_9_1.stream import (
    BODY,
    CHANNEL_CLOSE,
    CONNECTION_CLOSE,
    HEADER,
    METHOD,
    Said,
    Stream,
    ended,
)
from conformance.interop.outcomes import Form
from conformance.interop.play.passing import Content
from conformance.interop.play.protocol import BrokerEnded, Login
from harness.dialect import of

VOCABULARY: Any = of("0-9-1", "wire.vocabulary")
WITHIN = 5.0
"""Seconds that an answer of the broker may take."""
FRAME_MAX = 131072
PIECE = 1 << 18


class Own:
    """A connection of ours with one channel. Every method raises BrokerEnded when the broker ends either."""

    def __init__(self, place: tuple[str, int], login: Login) -> None:
        try:
            self._socket = socket.create_connection(place, timeout=WITHIN)
        except OSError as failure:
            raise BrokerEnded(f"the broker cannot be reached: {failure.strerror or failure}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = Stream()
        self._said: deque[Said] = deque()
        self._contents: deque[Content] = deque()
        self._listening: set[str] = set()
        self._room = FRAME_MAX - 8
        self.product = self.version = ""
        self._shake_hands(login)

    def _shake_hands(self, login: Login) -> None:
        v = VOCABULARY
        self._write(b"AMQP\x00\x00\x09\x01")
        self._note(self._answer((10, 10)).payload)
        response = b"\0" + login.user.encode() + b"\0" + login.password.encode()
        told = {"product": "amqp-conformance", "information": "interoperability"}
        self._tell(v.Connection.StartOk(told, "PLAIN", response, "en_US"), 0)
        tune = v.CODEC.decode_method(self._answer((10, 30)).payload)
        size = min(tune.frame_max or FRAME_MAX, FRAME_MAX)
        self._room = size - 8
        self._tell(v.Connection.TuneOk(tune.channel_max, size, 0), 0)
        self._tell(v.Connection.Open(login.virtual_host), 0)
        self._answer((10, 41))
        self._tell(v.Channel.Open())
        self._answer((20, 11))

    def _note(self, start: bytes) -> None:
        """Note what the broker says it is; who says it in an own way stays nameless."""
        try:
            told = VOCABULARY.CODEC.decode_method(start).server_properties
        except Exception:
            return
        self.product, self.version = str(told.get("product", "")), str(told.get("version", ""))

    # -- queues ----------------------------------------------------------------------------------------

    def place(self, name: str) -> str:
        """Make a queue that others can use, too; give the address that clients are told."""
        self._tell(VOCABULARY.Queue.Declare(name))
        self._answer((50, 11))
        return name

    def listen(self, name: str, kept: bool = True) -> None:
        """Take what comes to a queue from now on, by `take`."""
        assert kept, "what nobody wants is sent to a queue that nobody has"
        self._listening.add(name)
        self._tell(VOCABULARY.Basic.Consume(name, name, no_ack=True))
        self._answer((60, 21))

    def remove(self, name: str) -> None:
        """Remove a queue; its consumer ends first, for some brokers get stuck on one that is consumed."""
        if name in self._listening:
            self._tell(VOCABULARY.Basic.Cancel(name))
            self._answer((60, 31))
            self._listening.discard(name)
        self._tell(VOCABULARY.Queue.Delete(name))
        self._answer((50, 41))

    def ready(self, name: str) -> bool:
        """Say whether a message waits in a queue."""
        self._tell(VOCABULARY.Queue.Declare(name, passive=True))
        answer = self._answer((50, 11)).payload
        at = 5 + answer[4]
        return int.from_bytes(answer[at : at + 4]) > 0

    # -- messages --------------------------------------------------------------------------------------

    def publish(self, name: str, form: Form) -> None:
        """Publish a message to a queue, octet by octet as it is."""
        method = VOCABULARY.Basic.Publish("", name).encode()
        header = struct.pack(">HHQ", 60, 0, len(form.body)) + form.head
        pieces = [form.body[at : at + self._room] for at in range(0, len(form.body), self._room)]
        frames = [(METHOD, method), (HEADER, header), *((BODY, each) for each in pieces)]
        self._write(
            b"".join(struct.pack(">BHI", kind, 1, len(each)) + each + b"\xce" for kind, each in frames)
        )

    def take(self, within: float) -> Content | None:
        """Take the next message of a queue that is listened to; None when nothing has come."""
        deadline = time.monotonic() + within
        while not self._contents:
            if not self._hear(deadline):
                return None
        return self._contents.popleft()

    def turn_back(self, name: str) -> None:
        """Get a message and give it back, so that the next who gets it is not the first."""
        self._tell(VOCABULARY.Basic.Get(name))
        got = self.take(WITHIN)
        if got is None:
            raise BrokerEnded("no message could be got to give it back")
        self._tell(VOCABULARY.Basic.Reject(got.tag, True))

    def close(self) -> None:
        """Close the socket without a word."""
        self._socket.close()

    # -- octets ----------------------------------------------------------------------------------------

    def _tell(self, method: Any, channel: int = 1) -> None:
        payload = method.encode()
        self._write(struct.pack(">BHI", METHOD, channel, len(payload)) + payload + b"\xce")

    def _write(self, octets: bytes) -> None:
        try:
            self._socket.settimeout(WITHIN)
            self._socket.sendall(octets)
        except OSError:
            self._hear_why()
            raise BrokerEnded("the broker ended our connection") from None

    def _hear_why(self) -> None:
        """Read what the broker said before it ended. Raises BrokerEnded where it did."""
        while self._hear(time.monotonic() + 0.1):
            pass

    def _answer(self, method: tuple[int, int]) -> Said:
        deadline = time.monotonic() + WITHIN
        while True:
            while self._said:
                if (said := self._said.popleft()).method == method:
                    return said
            if not self._hear(deadline):
                raise BrokerEnded(f"the broker has not answered with method {method[0]}.{method[1]}")

    def _hear(self, deadline: float) -> bool:
        """Take what comes next; False when nothing has come up to the deadline."""
        if self._socket.fileno() < 0:
            raise BrokerEnded("the broker ended our connection")
        self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            octets = self._socket.recv(PIECE)
        except TimeoutError:
            return False
        except OSError:
            octets = b""
        if not octets:
            raise BrokerEnded("the broker ended our connection")
        for each in self._stream.methods(octets):
            if isinstance(each, Content):
                self._contents.append(each)
            elif each.method in (CHANNEL_CLOSE, CONNECTION_CLOSE):
                self._socket.close()
                raise BrokerEnded(str(ended(each)), ended(each))
            else:
                self._said.append(each)
        return True
