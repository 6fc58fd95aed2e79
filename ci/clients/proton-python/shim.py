"""Qpid Proton's Python binding as a shim: pumped in calls and in `wait`, and nowhere else."""

from collections.abc import Callable
from functools import cache
from typing import Any

from contract import Told, serve
from heard import Heard
from messages import tag_of, told_body, told_sections
from proton import Delivery, Endpoint, Link, Terminus, _reactor
from proton.reactor import Container
from sending import Sending

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


class Proton(Sending):
    """Proton's container, connections, sessions, links."""

    def __init__(self) -> None:
        super().__init__()
        self._counted = 0

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
        self.containers[name] = found
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

    def got(self, event: Any) -> None:
        """Tell a message that came."""
        body, more = told_body(event.message)
        message = self.keep((event.delivery, event.message), body, **more, **told_sections(event.message))
        self.happened("message", event.link.told_as, tag=tag_of(event.delivery), message=message)

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
