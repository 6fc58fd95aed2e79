"""Our own end at a 1.0 broker: it attaches links, and sends and takes octets as they are."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from conformance.interop.amqp1_0.stream import (
    ATTACH,
    BEGIN,
    CLOSE,
    DETACH,
    DISPOSITION,
    END,
    FLOW,
    LEVELS,
    OPEN,
    TRANSFER,
    Said,
    Stream,
    ended,
    ended_by,
)
from conformance.interop.amqp1_0.values import encode
from conformance.interop.outcomes import Form
from conformance.interop.play.passing import Content, Ended
from conformance.interop.play.protocol import BrokerEnded, Login

WITHIN = 5.0
"""Seconds that an answer of the broker may take."""
CREDIT = 100
FRAME = 1 << 16
MECHANISMS, INIT, OUTCOME = 0x40, 0x41, 0x44
ACCEPTED, REJECTED, RELEASED, MODIFIED = range(0x24, 0x28)
SOURCE, TARGET = 0x28, 0x29
PIECE = 1 << 18
SENDER, RECEIVER = False, True


class Own:
    """A connection of ours with one session. Every method raises BrokerEnded when the broker ends either."""

    def __init__(self, place: tuple[str, int], login: Login) -> None:
        try:
            self._socket = socket.create_connection(place, timeout=WITHIN)
        except OSError as failure:
            raise BrokerEnded(f"the broker cannot be reached: {failure.strerror or failure}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._writing = threading.Lock()
        self._stream = Stream()
        self._said: deque[Said] = deque()
        self._contents: deque[Content] = deque()
        self._handles: dict[tuple[str, bool], int] = {}
        self._kept: dict[int, bool] = {}
        """By the broker's handle: whether what comes there is kept."""
        self._left: dict[int, int] = {}
        self._given: dict[int, int] = {}
        self._counts: dict[int, int] = {}
        self._theirs: dict[int, int] = {}
        self._next = self._incoming = self._linked = self._numbers = 0
        self._room = FRAME - 512
        self.product = self.version = ""
        self._shake_hands(login)

    def _shake_hands(self, login: Login) -> None:
        self._write(b"AMQP\x03\x01\x00\x00")
        offered = self._answer(MECHANISMS).field(0)
        names = offered[1] if isinstance(offered, list) else [offered]
        response = b"\0" + login.user.encode() + b"\0" + login.password.encode()
        plain = [{"sym": "PLAIN"}, {"bin": response.hex()}]
        self._tell(INIT, plain if "PLAIN" in names else [{"sym": "ANONYMOUS"}, {"bin": ""}], kind=1)
        if self._answer(OUTCOME).number(0) != 0:
            raise BrokerEnded("the broker does not let us in")
        self._write(b"AMQP\x00\x01\x00\x00")
        self._tell(OPEN, [f"interop-{secrets.token_hex(6)}", None, {"u32": str(FRAME)}])
        opened = self._answer(OPEN)
        self._room = min(opened.number(2, FRAME), FRAME) - 512
        self._note(opened)
        if idle := opened.number(4):
            threading.Thread(target=self._beat, args=(idle / 2500,), daemon=True).start()
        window = {"u32": "2147483647"}
        self._tell(BEGIN, [None, {"u32": "0"}, window, window])
        self._incoming = self._answer(BEGIN).number(1)

    def _note(self, opened: Said) -> None:
        """Note what the broker says it is; who says nothing stays nameless."""
        fields = opened.field(9) or []
        told = {str(_bare(name)): str(_bare(value)) for name, value in fields}
        self.product, self.version = told.get("product", ""), told.get("version", "")

    def _beat(self, every: float) -> None:
        """Send empty frames while the connection lives: a broker may want to hear from us."""
        while self._socket.fileno() >= 0:
            time.sleep(every)
            with self._writing:
                try:
                    self._socket.sendall(b"\0\0\0\x08\x02\0\0\0")
                except TimeoutError:
                    continue
                except OSError:
                    return

    # -- queues ----------------------------------------------------------------------------------------

    def place(self, name: str) -> str:
        """Make a queue that others can use, too: where addresses make queues, by being used."""
        self._attach(name, SENDER)
        return name

    def listen(self, name: str, kept: bool = True) -> None:
        """Take what comes to a queue from now on, by `take`, or away."""
        handle, theirs = self._attach(name, RECEIVER)
        self._kept[theirs] = kept
        self._grant(handle)

    def remove(self, name: str) -> None:
        """Leave a queue; nothing in 1.0 removes one."""
        for role in (SENDER, RECEIVER):
            handle = self._handles.pop((name, role), None)
            if handle is not None:
                self._tell(DETACH, [{"u32": str(handle)}, True])
                self._answer(DETACH)

    def ready(self, name: str) -> bool:
        """Say that a message waits: nobody can ask, and what was accepted is there."""
        del name
        return True

    def _attach(self, name: str, role: bool) -> tuple[int, int]:
        if (name, role) in self._handles:
            handle = self._handles[name, role]
            return handle, self._theirs[handle]
        handle, self._linked = self._linked, self._linked + 1
        self._handles[name, role] = handle
        ends = [_terminus(SOURCE, name), _terminus(TARGET, None if role else name)]
        ends = ends if role else [_terminus(SOURCE, None), ends[1]]
        about = [f"interop-{secrets.token_hex(6)}", {"u32": str(handle)}, role, {"u8": "0"}, {"u8": "0"}]
        count = [] if role else [None, None, {"u32": "0"}]
        self._tell(ATTACH, [*about, *ends, *count])
        answer = self._answer(ATTACH)
        if answer.field(5 if role else 6) is None:
            self._answer(DETACH)
        self._theirs[handle] = answer.number(1)
        self._counts[handle] = 0
        self._left.setdefault(answer.number(1), 0)
        return handle, answer.number(1)

    def _grant(self, handle: int) -> None:
        """Give a link its credit again."""
        window = {"u32": "2147483647"}
        first = [{"u32": str(self._incoming)}, window, {"u32": str(self._next)}, window]
        link = [{"u32": str(handle)}, {"u32": str(self._counts[handle])}, {"u32": str(CREDIT)}]
        self._tell(FLOW, [*first, *link])

    # -- messages --------------------------------------------------------------------------------------

    def publish(self, name: str, form: Form) -> None:
        """Send a message to a queue, octet by octet, and wait until the broker has accepted it."""
        handle, theirs = self._attach(name, SENDER)
        self._until(lambda: self._given.get(theirs, 0) - self._left[theirs] > 0, "credit")
        self._left[theirs] += 1
        number, self._numbers = self._numbers, self._numbers + 1
        pieces = [form.body[at : at + self._room] for at in range(0, len(form.body), self._room)] or [b""]
        for at, piece in enumerate(pieces):
            tag = {"bin": number.to_bytes(4).hex()}
            begun = [{"u32": str(number)}, tag, {"u32": "0"}] if at == 0 else [None, None, None]
            more = at + 1 < len(pieces)
            self._tell(TRANSFER, [{"u32": str(handle)}, *begun, False, more], payload=piece)
        self._next += len(pieces)
        self._settled(number)

    def _settled(self, number: int) -> None:
        while True:
            said = self._answer(DISPOSITION)
            first, last = said.number(1), said.number(2, said.number(1))
            if said.field(0) is not RECEIVER or not first <= number <= last:
                continue
            state = said.fields[4]["desc"] if len(said.fields) > 4 and said.fields[4] else None
            code = int(state[0]["u64"]) if state else ACCEPTED
            if code == ACCEPTED:
                return
            why = state[1]["list"][0] if state and code == REJECTED and state[1]["list"] else None
            names = {REJECTED: "rejected", RELEASED: "released", MODIFIED: "modified"}
            told = ended("delivery", why) if why else Ended("delivery", names.get(code, hex(code)), "")
            raise BrokerEnded(f"the broker has not accepted it: {told}", told)

    def take(self, within: float) -> Content | None:
        """Take the next message of a queue that is listened to; None when nothing has come."""
        deadline = time.monotonic() + within
        while not self._contents:
            if not self._hear(deadline):
                return None
        return self._contents.popleft()

    def turn_back(self, name: str) -> None:
        """Do nothing: no case of 1.0 asks for that yet."""

    def close(self) -> None:
        """Close the socket without a word."""
        self._socket.close()

    # -- octets ----------------------------------------------------------------------------------------

    def _tell(self, code: int, fields: list[Any], payload: bytes = b"", kind: int = 0) -> None:
        said = encode({"desc": [{"u64": str(code)}, {"list": fields}]}) + payload
        self._write((len(said) + 8).to_bytes(4) + bytes((2, kind, 0, 0)) + said)

    def _write(self, octets: bytes) -> None:
        try:
            with self._writing:
                self._socket.settimeout(WITHIN)
                self._socket.sendall(octets)
        except OSError:
            while self._hear(time.monotonic() + 0.1):
                pass  # why it ended may still be there to be read
            raise BrokerEnded("the broker ended our connection") from None

    def _answer(self, code: int) -> Said:
        found: list[Said] = []

        def came() -> bool:
            while self._said and not found:
                if (said := self._said.popleft()).code == code:
                    found.append(said)
            return bool(found)

        self._until(came, f"performative {code:#04x}")
        return found[0]

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WITHIN
        while not holds():
            if not self._hear(deadline):
                raise BrokerEnded(f"the broker has not given {what}")

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
            self._socket.close()
            raise BrokerEnded("the broker ended our connection")
        for said in self._stream.performatives(octets):
            self._heed(said)
        return True

    def _heed(self, said: Said) -> None:
        if said.code == TRANSFER:
            for content in self._stream.message(said):
                self._delivered(said.number(0), content)
        elif said.code == FLOW and said.field(4) is not None:
            theirs = said.number(4)
            self._given[theirs] = said.number(5) + said.number(6)
        elif said.code in LEVELS and (why := ended_by(said)):
            self._socket.close()
            raise BrokerEnded(str(why), why)
        elif said.code in (CLOSE, END):
            self._socket.close()
            raise BrokerEnded("the broker ended our connection")
        else:
            self._said.append(said)

    def _delivered(self, theirs: int, content: Content) -> None:
        state = {"desc": [{"u64": str(ACCEPTED)}, {"list": []}]}
        number = {"u32": str(content.tag)}
        self._tell(DISPOSITION, [True, number, number, True, state])
        for (_, role), handle in self._handles.items():
            if role and self._theirs.get(handle) == theirs:
                self._counts[handle] += 1
                if self._counts[handle] % (CREDIT // 2) == 0:
                    self._grant(handle)
        if self._kept.get(theirs, True):
            self._contents.append(content)


def _terminus(code: int, address: str | None) -> Any:
    return {"desc": [{"u64": str(code)}, {"list": [address] if address is not None else []}]}


def _bare(value: Any) -> Any:
    return next(iter(value.values())) if isinstance(value, dict) else value
