"""Our own client of 1.0 as a shim: `python -m harness.amqp1_0.shims.own`, or in this process."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Final, TypeVar

from harness.amqp1_0.library.connection import Connection
from harness.amqp1_0.library.links import Link
from harness.amqp1_0.library.receiver import Incoming, Receiver
from harness.amqp1_0.library.refusals import local
from harness.amqp1_0.library.resuming import Key
from harness.amqp1_0.library.sender import Sender
from harness.amqp1_0.library.session import Session
from harness.amqp1_0.library.stream import Wanted
from harness.amqp1_0.shims.messages import Sections, decoded, encoded, message, told
from harness.amqp1_0.shims.values import Json
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Error,
    Modified,
    ReceiverSettleMode,
    Rejected,
    Released,
    SenderSettleMode,
)
from harness.shims.contract import CONTRACT, Kind, Refused
from harness.shims.serving import EVERYWHERE, Commands, serve
from harness.wire.transport import TcpTransport, Transport, Unreachable
from harness.wire.units import DecodeError

LIBRARY, VERSION = "amqp-conformance", version("amqp-conformance")
WITHIN = 5.0
"""Seconds that something may take, unless told otherwise."""
OUTCOMES: Final[Mapping[str, type[Composite]]] = {
    "accept": Accepted, "reject": Rejected, "release": Released, "modify": Modified,
}  # fmt: skip
SENDER_MODES: Final = {
    "unsettled": SenderSettleMode.UNSETTLED,
    "settled": SenderSettleMode.SETTLED,
    "mixed": SenderSettleMode.MIXED,
}
RECEIVER_MODES: Final = {"first": ReceiverSettleMode.FIRST, "second": ReceiverSettleMode.SECOND}
REDIRECTS = 3
"""How often a connection follows one."""
Named = TypeVar("Named")


class Own(Commands):
    """Our own client; `reach` opens the transport to a host and port."""

    commands = (*EVERYWHERE, "attach", "credit", "drain", "detach")

    def __init__(self, reach: Callable[[str, int], Transport] | None = None) -> None:
        self._reach = reach or (lambda host, port: TcpTransport(host, port, time.monotonic()))
        self._connections: dict[str, Connection] = {}
        self._sessions: dict[str, Session] = {}
        self._links: dict[str, Link] = {}
        self._termini: defaultdict[tuple[str, str], dict[Key, Link]] = defaultdict(dict)
        """Links that are detached and not closed, by the containers that they are between."""
        self._events: defaultdict[str, deque[dict[str, Json]]] = defaultdict(deque)
        self._kept: dict[str, tuple[str, Incoming, Sections]] = {}
        """What has come, by token: on which link, and its sections."""
        self._opened = self._attached = 0

    def hello(self) -> Mapping[str, Json]:
        """Say who we are."""
        named = {"library": LIBRARY, "version": VERSION, "language": "Python"}
        return {"contract": CONTRACT, **named, "protocol": "1-0"}

    # -- connections and sessions ----------------------------------------------------------------------

    def connect(
        self,
        host: str,
        port: int,
        vhost: str = "",
        container: str = "",
        within: float = WITHIN,
        **others: Json,
    ) -> Mapping[str, Json]:
        """Open a connection."""
        del vhost  # 1.0 has none
        name = f"c{self._opened}"
        self._opened += 1
        wanted = Wanted(container or f"{LIBRARY}-own-{self._opened}", **_wanted(others))
        for _ in range(REDIRECTS + 1):
            connection = self._connected(name, self._reached(host, port), wanted, within)
            if not connection.redirected:
                break
            host, port, wanted = _redirected(connection, host, port)
        if connection.redirected:
            raise local(f"redirected more than {REDIRECTS} times")
        self._connections[name] = connection
        return {"on": name}

    def _reached(self, host: str, port: int) -> Transport:
        try:
            return self._reach(host, port)
        except Unreachable as failure:
            raise Refused(Kind.LOST, str(failure)) from None

    def _connected(self, name: str, transport: Transport, wanted: Wanted, within: float) -> Connection:
        def tell(**event: Any) -> None:
            self._tell(name, event)

        connection = Connection(transport, wanted, within, name, tell)
        try:
            connection.open()
        except Refused:
            connection.leave()
            if not connection.redirected:
                raise
        if connection.theirs is not None:
            connection.termini = self._termini[wanted.container, connection.theirs.container_id]
        return connection

    def open(self, on: str) -> Mapping[str, Json]:
        """Begin a session."""
        session = self._of(self._connections, on).begin()
        session.on = f"{on}/{self._number()}"
        self._sessions[session.on] = session
        return {"on": session.on}

    def close(self, on: str) -> None:
        """Close a connection or a link, or end a session, and wait for the answer."""
        if on in self._links:
            self._links.pop(on).detach(closed=True)
        elif on in self._sessions:
            self._sessions.pop(on).end()
        else:
            self._of(self._connections, on).close()

    def reset(self) -> None:
        """Drop everything."""
        for connection in self._connections.values():
            connection.end()
        for kept in (
            self._connections,
            self._sessions,
            self._links,
            self._termini,
            self._events,
            self._kept,
        ):
            kept.clear()

    def wait(self, on: str, count: int = 0, **others: float) -> Mapping[str, Json]:
        """Let it live until so many events are there, `for` some seconds, or up to the end."""
        events = self._events[on]
        if (connection := self._connections.get(on)) is not None:
            connection.live(others["for"], lambda: bool(count) and len(events) >= count)
        found = list(events)
        events.clear()
        return {"events": found}

    # -- links -----------------------------------------------------------------------------------------

    def attach(
        self,
        on: str,
        role: str,
        address: str,
        name: str = "",
        credit: int = 0,
        snd: str = "",
        rcv: str = "",
        expiry: str = "",
    ) -> Mapping[str, Json]:
        """Attach a link."""
        session = self._of(self._sessions, on)
        if session.gone is not None:
            raise session.gone
        number = self._number()
        named = name or f"{session.connection.wanted.container}-{number}"
        kind = Sender if role == "sender" else Receiver
        link = kind(session, named, session.free_handle(), address)
        link.outlives = expiry == "never"
        link.on = f"{on}/{number}"
        session.links[link.handle] = link
        modes = {"snd_settle_mode": SENDER_MODES.get(snd), "rcv_settle_mode": RECEIVER_MODES.get(rcv)}
        link.attach(**{mode: value for mode, value in modes.items() if value is not None})
        self._links[link.on] = link
        if credit and isinstance(link, Receiver):
            link.grant(credit)
        return {"on": link.on}

    def detach(self, on: str) -> None:
        """Detach a link without closing it."""
        self._of(self._links, on).detach(closed=False)

    def send(
        self,
        on: str,
        body: Json,
        properties: Json = None,
        header: Json = None,
        application: Json = None,
        annotations: Json = None,
        settled: bool = False,
        wait: bool = True,
        count: int = 1,
    ) -> Mapping[str, Json]:
        """Send a message, or so many; wait for what becomes of it."""
        named = {"properties": properties, "header": header}
        maps = {"application": application, "annotations": annotations}
        return self._send(on, message(body, **named, **maps), settled, wait, count)

    def _send(
        self, on: str, sections: Sections, settled: bool = False, wait: bool = True, count: int = 1
    ) -> Mapping[str, Json]:
        link, octets = self._link(on, Sender), encoded(sections)
        sent = [link.send(octets, settled, not wait) for _ in range(count)]
        if not wait:
            return {"tag": sent[-1].tag.hex()}
        link.session.connection.until(lambda: all(each.done for each in sent), link.session, link)
        return {"outcome": sent[-1].outcome}

    def credit(self, on: str, credit: int) -> None:
        """Give more credit."""
        link = self._link(on, Receiver)
        if link.gone is not None:
            raise link.gone
        link.grant(credit)

    def drain(self, on: str) -> None:
        """Have the server use up the credit."""
        self._link(on, Receiver).drain()

    def settle(self, on: str, token: str, outcome: str, multiple: bool = False) -> None:
        """Say what became of a message."""
        del on, multiple
        link, delivery, _ = self._of(self._kept, token)
        self._link(link, Receiver)  # it is not closed
        delivery.link.settle(delivery, OUTCOMES[outcome]())

    def echo(self, on: str, token: str, key: str = "") -> Mapping[str, Json]:
        """Send a message again as it came."""
        del key
        return self._send(on, self._of(self._kept, token)[2])

    # -- events and names ------------------------------------------------------------------------------

    def _tell(self, connection: str, event: dict[str, Any]) -> None:
        delivery: Incoming | None = event.pop("delivery", None)
        if delivery is not None:
            octets = bytes(delivery.octets)
            try:
                sections = decoded(octets)
                said = told(octets, sections)
            except (DecodeError, TypeError, ValueError) as failure:
                self._reject(event["on"], delivery, str(failure))
                return
            token = f"m{len(self._kept)}"
            self._kept[token] = (event["on"], delivery, sections)
            event["message"] = {"token": token, **said}
        self._events[connection].append(event)

    def _reject(self, on: str, delivery: Incoming, why: str) -> None:
        """Reject what is no message."""
        self._link(on, Receiver).settle(delivery, Rejected(Error(AmqpError.DECODE_ERROR, why)))

    def _number(self) -> int:
        self._attached += 1
        return self._attached

    @staticmethod
    def _of(named: Mapping[str, Named], name: str) -> Named:
        if name not in named:
            raise local(f"there is no {name} any more")
        return named[name]

    def _link(self, on: str, kind: type[Link]) -> Any:
        link = self._of(self._links, on)
        if not isinstance(link, kind):
            raise local(f"{on} is no {kind.__name__.lower()}")
        return link


def _wanted(others: Mapping[str, Json]) -> dict[str, Json]:
    """Give what a connection is to be from the arguments of `connect`, those that are set."""
    known = ("hostname", "user", "password", "mechanism", "frame_max", "channel_max", "idle")
    unknown = [name for name in others if name not in (*known, "vhost")]
    if unknown:
        raise Refused(Kind.UNSUPPORTED, f"connect has no {', '.join(unknown)}")
    return {name: others[name] for name in known if others.get(name) is not None}


def _redirected(connection: Connection, host: str, port: int) -> tuple[str, int, Wanted]:
    """Give where a redirect leads, and as whom (2.8.16)."""
    info, wanted = connection.redirected, connection.wanted
    hostname = info.get("hostname")
    if hostname is not None:
        wanted = replace(wanted, hostname=str(hostname))
    return str(info.get("network-host", host)), int(info.get("port", port)), wanted


if __name__ == "__main__":
    serve(Own())
