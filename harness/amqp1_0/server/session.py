"""Sessions and links of a client under test, told by its shim what to do, and our server's side of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from harness.amqp1_0.broken.deviations import Said, octets_said
from harness.amqp1_0.client.endpoints import Delivery
from harness.amqp1_0.client.outcomes import Observation, Received
from harness.amqp1_0.peer import entities, windows
from harness.amqp1_0.peer.entities import Message as Stored
from harness.amqp1_0.peer.traffic import serve
from harness.amqp1_0.server.connection import Connection
from harness.amqp1_0.server.told import Message
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.performatives import Attach, Begin, Detach, End, Error, Flow, Role, Transfer
from harness.play.expect import ControlFailed, Outcome
from harness.play.opened import Event
from harness.shims.contract import Refused

Told = str | Mapping[str, Any]
"""A body as the contract has it: a text, {"fill": n}, {"value": v}, {"sequence": [v, …]}."""
AnyLink = TypeVar("AnyLink", bound="JudgedLink")


class JudgedSession:
    """A session that the client has opened, called `on` by its shim; `channel` is the client's."""

    def __init__(self, connection: Connection, on: str, channel: int) -> None:
        self.connection, self.on, self.channel = connection, on, channel
        self.client = connection.client

    def sender(self, address: str = "", **how: Any) -> JudgedSender:
        """Have the client attach a link to send on; `how` has name, snd, rcv."""
        return self._attach(JudgedSender, address, how)

    def receiver(self, address: str = "", credit: int = 0, **how: Any) -> JudgedReceiver:
        """Have the client attach a link to receive on; `how` has name, snd, rcv."""
        return self._attach(JudgedReceiver, address, how | {"credit": credit})

    def _attach(self, kind: type[AnyLink], address: str, how: dict[str, Any]) -> AnyLink:
        asked = self._asked(kind, address, how)
        before = self.connection.link.waiting(Attach)
        return self._link(kind, str(self.client.told("attach", **asked)["on"]), before)

    def _asked(self, kind: type[AnyLink], address: str, how: dict[str, Any]) -> dict[str, Any]:
        role = "sender" if kind.role is Role.SENDER else "receiver"
        return {"on": self.on, "role": role, "address": address or self.client.name("node"), **how}

    def tries_sender(self, address: str = "", **how: Any) -> JudgedSender | Refused:
        """Have the client attach a link to send on that it may not get."""
        return self._tries(JudgedSender, address, how)

    def tries_receiver(self, address: str = "", credit: int = 0, **how: Any) -> JudgedReceiver | Refused:
        """Have the client attach a link to receive on that it may not get."""
        return self._tries(JudgedReceiver, address, how | {"credit": credit})

    def _tries(self, kind: type[AnyLink], address: str, how: dict[str, Any]) -> AnyLink | Refused:
        told: dict[str, Any] = {}
        asked = self._asked(kind, address, how)
        before = self.connection.link.waiting(Attach)
        refused = self.client.attempted("attach", into=told, **asked)
        return refused or self._link(kind, str(told["on"]), before)

    def _link(self, kind: type[AnyLink], on: str, before: int) -> AnyLink:
        """Give the link whose attach comes behind those `before`, which were not looked at."""
        for _ in range(before):
            self.connection.came(Attach)
        attach: Attach = self.connection.came(Attach).performative
        return kind(self, on, attach)

    def end(self) -> None:
        """Have the client end the session, and wait for the answer."""
        self.connection.close(self.on)

    def ends(self) -> Refused | None:
        """Have the client end the session, though it may get no answer, and say why it gave up."""
        return self.connection.closes(self.on)

    # -- what our server does --------------------------------------------------------------------------

    @property
    def server(self) -> entities.Session:
        """Our server's own side of it. Raises ControlFailed where there is none any more."""
        found = self.connection.server.sessions.get(self.channel)
        if found is None:
            raise ControlFailed("a session", "none at our server")
        return found

    @property
    def server_channel(self) -> int:
        """The channel on which our server has it. Raises ControlFailed where it has said no begin."""
        self.connection.link.hear()
        said = self.connection.link.said
        found = [on for on, each in said if isinstance(each, Begin) and each.remote_channel == self.channel]
        if not found:
            raise ControlFailed("a session", "no begin of our server")
        return found[-1]

    def says(self, *said: Said) -> None:
        """Have our server say something on the session that it knows nothing of."""
        self.connection.says(*said, channel=self.server_channel)

    def server_ends(self, condition: str = "", text: str = "") -> None:
        """Have our server end the session, and wait for the client's end as it would."""
        error = Error(condition, text or None) if condition else None
        self.connection.does(lambda: self.connection.server.say_on(self.server, End(error)))

    def server_flows(self, **fields: Any) -> None:
        """Have our server say a flow of the session that states what it knows, altered as given."""
        policy = self.connection.server.peer.policy

        def act() -> bytes:
            flow = windows.session_flow(self.server, policy).replace(**fields)
            return octets_said(self.server.channel, (flow,))

        self.connection.does(act)

    # -- judging ---------------------------------------------------------------------------------------

    def expect(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge what the client sends next on the session, or for the whole connection. Raises Unmet."""
        return self.connection.hold(self._next, outcomes)

    def _next(self, passed: tuple[type[Any], ...], patience: float) -> Observation:
        link = self.connection.link
        until = link.now() + patience
        while True:
            seen = link.next_but(passed, max(until - link.now(), 0.0))
            if not isinstance(seen, Received) or seen.session in (None, self.channel):
                return seen

    def sent(self, *kinds: type[Composite]) -> list[Any]:
        """Give what the client has sent so far of these kinds on the session, looked at or not."""
        return [each.performative for each in self.received() if isinstance(each.performative, kinds)]

    def received(self) -> Sequence[Received]:
        """Give all that the client has sent so far on the session, from its begin on."""
        self.connection.link.hear()
        return self.connection.link.told[self.channel]

    def failure(self) -> Refused | None:
        """Say what the next command comes to: attaching another link."""
        asked: dict[str, Any] = {"role": "sender", "address": self.client.name("node")}
        return self.client.attempted("attach", on=self.on, **asked)


class JudgedLink:
    """A link that the client has attached, called `on` by its shim; `attach` is the client's."""

    role: ClassVar[bool]

    def __init__(self, session: JudgedSession, on: str, attach: Attach) -> None:
        self.session, self.on, self.attach = session, on, attach
        self.connection, self.client = session.connection, session.client
        self.handle = attach.handle

    def close(self) -> None:
        """Have the client close the link, and wait for the answer."""
        self.connection.close(self.on)

    def closes(self) -> Refused | None:
        """Have the client close the link, though it may get no answer, and say why it gave up."""
        return self.connection.closes(self.on)

    def detach(self) -> None:
        """Have the client detach the link without closing it."""
        self.client.told("detach", on=self.on)

    def detaches(self) -> Refused | None:
        """Have the client detach the link, though it may get no answer, and say why it gave up."""
        return self.client.attempted("detach", on=self.on)

    def expect(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge what the client sends next on the session of the link. Raises Unmet."""
        return self.session.expect(*outcomes)

    def sent(self, *kinds: type[Composite]) -> list[Any]:
        """Give what the client has sent of these kinds behind its attach with the handle of the link."""
        return [each.performative for each in self._received() if isinstance(each.performative, kinds)]

    def _received(self) -> Iterator[Received]:
        behind = False
        for each in self.session.received():
            if each.performative is self.attach:
                behind = True
            elif behind and getattr(each.performative, "handle", None) == self.handle:
                yield each

    # -- what our server does --------------------------------------------------------------------------

    @property
    def server(self) -> entities.Link:
        """Our server's own side of it. Raises ControlFailed where there is none any more."""
        found = self.session.server.links.get(self.handle)
        if found is None:
            raise ControlFailed("a link", "none at our server")
        return found

    @property
    def server_attach(self) -> Attach:
        """Our server's attach. Raises ControlFailed where it has said none."""
        self.connection.link.hear()
        said = [each for _, each in self.connection.link.said if isinstance(each, Attach)]
        found = [each for each in said if each.name == self.attach.name and each.role is not self.role]
        if not found:
            raise ControlFailed("a link", "no attach of our server")
        return found[-1]

    @property
    def server_handle(self) -> int:
        return self.server_attach.handle

    def server_detaches(self, condition: str = "", text: str = "", closed: bool = True) -> None:
        """Have our server detach the link, and wait for the client's detach as it would."""
        error = Error(condition, text or None) if condition else None

        def act() -> None:
            said = Detach(self.server.number, closed or None, error)
            self.connection.server.say_on(self.session.server, said, self.server)

        self.connection.does(act)

    def server_flows(self, **fields: Any) -> None:
        """Have our server say a flow of the link that states what it knows, altered as given."""
        policy = self.connection.server.peer.policy

        def act() -> bytes:
            flow = windows.link_flow(self.server, policy).replace(**fields)
            return octets_said(self.session.server.channel, (flow,))

        self.connection.does(act)

    def tells(self, event: str, count: int = 1) -> list[Event]:
        """Give the events of a kind that the client tells of the link, waiting for so many of them."""
        return self.connection.tells(event, count, self.on)


class JudgedSender(JudgedLink):
    """A link on which the client sends."""

    role = Role.SENDER

    def send(self, body: Told = "x", **how: Any) -> str | None:
        """Have the client send a message, which comes; give the outcome that it tells.

        `how` has properties, header, application, annotations, settled, count.
        """
        before = len(self.deliveries())
        told = self.client.told("send", on=self.on, body=body, **how)
        for _ in range(how.get("count", 1)):
            while self.connection.came(Transfer).performative.more:
                pass
        if len(self.deliveries()) - before < how.get("count", 1):
            raise ControlFailed("send", "no whole delivery")
        outcome = told.get("outcome")
        return None if outcome is None else str(outcome)

    def tries_to_send(self, body: Told = "x", **how: Any) -> str | Refused | None:
        """Have the client send a message that it may not be able to; give the outcome, or why not."""
        told: dict[str, Any] = {}
        refused = self.client.attempted("send", into=told, on=self.on, body=body, **how)
        return refused or told.get("outcome")

    def hands_over(self, body: Told = "x", **how: Any) -> str:
        """Have the client take a message to be sent when it may; give its tag, empty where none is told.

        Outcomes come as events. A library may wait for credit or room before it has taken a message, and
        gives up after a time: then it has none to give, and what it sends decides.
        """
        return str(self.client.told("send", on=self.on, body=body, wait=False, **how).get("tag", ""))

    def echo(self, message: Message) -> None:
        """Have the client send a message again as its library gave it."""
        self.client.told("echo", on=self.on, token=message.token)

    def outcomes(self, count: int = 1) -> list[str]:
        """Give the outcomes that the client tells of what was handed over, waiting for so many."""
        return [str(each.told.get("outcome")) for each in self.tells("outcome", count)]

    def transfers(self) -> list[tuple[Transfer, bytes]]:
        """Give the transfers that have come on the link, with their payloads."""
        return [
            (each.performative, each.payload)
            for each in self._received()
            if isinstance(each.performative, Transfer)
        ]

    def deliveries(self) -> list[Delivery]:
        """Give the deliveries that have come whole on the link, those aborted left out."""
        whole, parts = list[Delivery](), list[tuple[Transfer, bytes]]()
        for said, payload in self.transfers():
            parts.append((said, payload))
            if said.aborted:
                parts = []
            elif not said.more:
                transfers = tuple(part for part, _ in parts)
                whole.append(Delivery(transfers[0], transfers, b"".join(octets for _, octets in parts)))
                parts = []
        return whole


class JudgedReceiver(JudgedLink):
    """A link on which the client receives."""

    role = Role.RECEIVER

    def credit(self, count: int) -> None:
        """Have the client give our server so much credit, and wait for the flow."""
        self.client.told("credit", on=self.on, credit=count)
        self.connection.came(Flow)

    def drain(self) -> None:
        """Have the client drain the link."""
        self.client.told("drain", on=self.on)

    def drains(self) -> Refused | None:
        """Have the client drain the link, though it may get no answer, and say why it gave up."""
        return self.client.attempted("drain", on=self.on)

    def settle(self, message: Message, outcome: str = "accept") -> None:
        """Have the client accept, reject, release or modify a message."""
        self.client.told("settle", on=self.on, token=message.token, outcome=outcome)

    def tries_to_settle(self, message: Message, outcome: str = "accept") -> Refused | None:
        """Have the client settle a message that it may not settle."""
        return self.client.attempted("settle", on=self.on, token=message.token, outcome=outcome)

    def messages(self, count: int = 1) -> list[Message]:
        """Give what the client has got on the link, waiting for so many; fewer where no more come."""
        return [Message.of(each.told["message"]) for each in self.tells("message", count)]

    # -- what our server does --------------------------------------------------------------------------

    def server_sends(self, *messages: bytes) -> None:
        """Have our server send messages as the client's credit allows."""
        peer = self.connection.server.peer

        def act() -> None:
            node = self.server.node
            assert node is not None
            for octets in messages:
                peer.nodes.octets += len(octets)
                peer.nodes.keep(node, Stored(0, octets))
            serve(peer, node)

        self.connection.does(act)

    def server_transfers(self, payload: bytes, **fields: Any) -> None:
        """Have our server send a transfer, altered as given, whether or not it may; it is counted."""

        def act() -> bytes:
            session, link = self.session.server, self.server
            number = session.next_delivery_id
            given = {"delivery_id": number, "delivery_tag": number.to_bytes(4), "message_format": 0}
            said = Transfer(link.number).replace(**(given | fields))
            session.next_outgoing_id += 1
            session.remote_incoming_window -= 1
            if said.delivery_id is not None and not said.more:
                session.next_delivery_id += 1
                link.delivery_count += 1
                link.credit = max(link.credit - 1, 0)
            return Frame(AMQP, session.channel, said.encode() + payload).encode()

        self.connection.does(act)
