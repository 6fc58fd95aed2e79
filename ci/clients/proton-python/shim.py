"""Qpid Proton's Python binding as a shim: pumped in calls and in `wait`, and nowhere else."""

from collections.abc import Callable, Mapping
from functools import cache
from time import monotonic
from typing import Any

import proton
from contract import Refused, Shim, Told, serve
from heard import Heard
from proton import Delivery, Endpoint, Link, Terminus, _reactor
from proton.reactor import Container
from values import made, told_body, told_sections

OUTCOMES = {
    Delivery.ACCEPTED: "accepted",
    Delivery.REJECTED: "rejected",
    Delivery.RELEASED: "released",
    Delivery.MODIFIED: "modified",
}
SETTLING = {
    "accept": Delivery.ACCEPTED,
    "reject": Delivery.REJECTED,
    "release": Delivery.RELEASED,
    "modify": Delivery.MODIFIED,
}
MODES = {"unsettled": Link.SND_UNSETTLED, "settled": Link.SND_SETTLED, "mixed": Link.SND_MIXED}
RECEIVING = {"first": Link.RCV_FIRST, "second": Link.RCV_SECOND}

# A container reads all certificates of the machine, which takes longer than all else; none is needed here.
_reactor.SSLConfig = cache(_reactor.SSLConfig)


class Proton(Shim):
    """Proton's container, connections, sessions, links."""

    library, version, protocol = "proton-python", ".".join(map(str, proton.VERSION)), "1-0"
    kinds = (("timeout", ("Timeout",)), ("local", ("ProtonException",)))

    def __init__(self) -> None:
        super().__init__()
        self.closing: set[str] = set()
        self.closed_by_us: set[str] = set()
        self._containers: dict[str, Container] = {}
        self._sent: dict[str, tuple[str, bool]] = {}
        """What is not settled yet, by its tag: the link, and whether an event shall tell it."""
        self._outcomes: dict[str, str | None] = {}
        self._counted = 0

    def forget(self) -> None:
        """Forget all containers."""
        for each in (self.closing, self.closed_by_us, self._containers, self._sent, self._outcomes):
            each.clear()

    def closed(self, failure: BaseException) -> Refused | None:  # noqa: ARG002
        """Give nothing: Proton tells it by events."""
        return None

    def live(self, connection: str, seconds: float) -> None:
        """Pump once."""
        container = self._containers[connection]
        container.timeout = seconds
        running = container.process()
        # What an event has made Proton say goes out before the shim looks at what is over.
        while running and self._to_say(connection):
            container.timeout = 0
            running = container.process()
        if not running:
            self.over.setdefault(connection, Refused("local", "the container has ended"))

    def _to_say(self, connection: str) -> bool:
        found = self.connections.get(connection)
        transport = found.transport if found is not None else None
        return transport is not None and not transport.closed and transport.pending() > 0

    def until(self, on: str, ready: Callable[[], Any]) -> None:
        """Pump until something is so. Raises Refused when what it is about is over, or the time is."""
        deadline, name = monotonic() + self.within, on.partition("/")[0]
        while not ready():
            for each in (on, on.rpartition("/")[0], name):
                if each in self.over:
                    raise self.over[each]
            if (left := deadline - monotonic()) <= 0:
                raise Refused("timeout", f"{on}: no answer in time")
            self.live(name, left)

    def alive(self, on: str) -> Any:
        """Give an endpoint that is not over. Raises Refused."""
        for each in (on, on.rpartition("/")[0], on.partition("/")[0]):
            if each in self.over:
                raise self.over[each]
        return self.found(on)

    def connect(
        self,
        host: str,
        port: int,
        user: str,
        password: str,
        vhost: str = "",  # noqa: ARG002 - 1.0 has none
        idle: int | None = None,
        frame_max: int | None = None,
        channel_max: int | None = None,
        mechanism: str | None = None,
        container: str | None = None,
        hostname: str | None = None,
    ) -> Told:
        """Open a connection that does not come back by itself."""
        name = self.named()
        heard = Heard(self, name, channel_max)
        found = Container(heard, **({"container_id": container} if container else {}))
        self._containers[name] = found
        found.start()
        given: Told = {"allowed_mechs": mechanism, "virtual_host": hostname, "max_frame_size": frame_max}
        given |= {"user": user, "password": password, "heartbeat": idle and idle / 1000}
        wanted = {key: each for key, each in given.items() if each is not None}
        connection = found.connect(f"amqp://{host}:{port}", handler=heard, reconnect=False, **wanted)
        self.connections[name] = connection
        self.until(name, lambda: connection.state & Endpoint.REMOTE_ACTIVE)
        return {"on": name}

    def _begun(self, name: str, endpoint: Any) -> Told:
        endpoint.told_as = name
        self.inner[name] = endpoint
        endpoint.open()
        self.until(name, lambda: endpoint.state & Endpoint.REMOTE_ACTIVE)
        return {"on": name}

    def open(self, on: str) -> Told:
        """Open a session."""
        self._counted += 1
        return self._begun(f"{on}/{self._counted}", self.alive(on).session())

    def attach(
        self,
        on: str,
        role: str,
        address: str,
        name: str | None = None,
        credit: int = 0,
        snd: str | None = None,
        rcv: str | None = None,
    ) -> Told:
        """Attach a link. One without a terminus is about to be detached, which is waited for."""
        self._counted += 1
        session, sends = self.alive(on), role == "sender"
        link = (session.sender if sends else session.receiver)(name or f"link-{self._counted}")
        (link.target if sends else link.source).address = address
        if snd:
            link.snd_settle_mode = MODES[snd]
        if rcv:
            link.rcv_settle_mode = RECEIVING[rcv]
        told = self._begun(f"{on}/{self._counted}", link)
        if (link.remote_target if sends else link.remote_source).type == Terminus.UNSPECIFIED:
            self.until(told["on"], lambda: False)
        if credit and not sends:
            self.credit(told["on"], credit)
        return told

    def send(
        self,
        on: str,
        body: Any,
        properties: Mapping[str, Any] | None = None,
        header: Mapping[str, Any] | None = None,
        application: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        settled: bool = False,
        wait: bool = True,
        count: int = 1,
    ) -> Told:
        """Send a message, so many times; without credit Proton keeps it."""
        message = made(
            {
                "body": body,
                "properties": properties,
                "header": header,
                "application": application,
                "annotations": annotations,
            }
        )
        return self._sending(on, message, settled, wait, count)

    def _sending(self, on: str, message: Any, settled: bool, wait: bool, count: int = 1) -> Told:
        link, tag = self.alive(on), ""
        for _ in range(count):
            delivery = link.send(message)
            tag = str(delivery.tag)
            if settled:
                delivery.settle()
            elif link.snd_settle_mode != Link.SND_SETTLED:
                self._sent[f"{on} {tag}"] = (on, not wait)
        key = f"{on} {tag}"
        if key not in self._sent:
            self.until(on, lambda: not link.queued)
            self.live(on.partition("/")[0], 0)
            return {"outcome": None} if wait else {"tag": tag}
        if not wait:
            self.live(on.partition("/")[0], 0)
            return {"tag": tag}
        self.until(on, lambda: key in self._outcomes)
        return {"outcome": self._outcomes.pop(key)}

    def settled(self, delivery: Any) -> None:
        """Remember the outcome of a message sent."""
        link = delivery.link
        key = f"{link.told_as} {delivery.tag}"
        outcome = OUTCOMES.get(delivery.remote_state)
        if key in self._sent:
            on, tells = self._sent.pop(key)
            if tells:
                self.happened("outcome", on, tag=str(delivery.tag), outcome=outcome)
            else:
                self._outcomes[key] = outcome

    def got(self, event: Any) -> None:
        """Tell a message that came."""
        body, more = told_body(event.message)
        message = self.keep((event.delivery, event.message), body, **more, **told_sections(event.message))
        # Of one that came settled Proton has no tag any more, and falls over who asks for it.
        tag = "" if event.delivery.settled else str(event.delivery.tag)
        self.happened("message", event.link.told_as, tag=tag, message=message)

    def credit(self, on: str, credit: int) -> None:
        """Give credit, which Proton adds."""
        self.alive(on).flow(credit)
        self.live(on.partition("/")[0], 0)

    def drain(self, on: str) -> None:
        """Drain a receiver."""
        link = self.alive(on)
        link.drain(0)
        self.until(on, lambda: not link.draining())

    def settle(self, on: str, token: str, outcome: str) -> None:
        """Settle a message that came."""
        self.alive(on)
        delivery, _ = self.kept(token)
        delivery.update(SETTLING[outcome])
        if delivery.link.rcv_settle_mode != Link.RCV_SECOND:  # else behind its sender
            delivery.settle()
        self.live(on.partition("/")[0], 0)

    def echo(self, on: str, token: str) -> Told:
        """Send a message again, as Proton gave it."""
        return self._sending(on, self.kept(token)[1], False, True)

    def detach(self, on: str) -> None:
        """Detach a link."""
        self._end(on, lambda link: link.detach())

    def close(self, on: str) -> None:
        """Close a connection, end a session, or detach a link with closed."""
        self._end(on, lambda endpoint: endpoint.close())

    def _end(self, on: str, act: Callable[[Any], None]) -> None:
        endpoint = self.alive(on)
        self.closing.add(on)
        act(endpoint)
        self.until(on, lambda: on not in self.closing)


if __name__ == "__main__":
    serve(Proton())
