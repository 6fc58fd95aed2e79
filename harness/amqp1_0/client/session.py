"""Sessions and links, as far as scenarios need them for fences and controls."""

from __future__ import annotations

from typing import Any, Protocol

from harness.amqp1_0.client.link import Link, Said
from harness.amqp1_0.client.outcomes import Observation, Received, describe
from harness.amqp1_0.wire.composites import CLASSES, Composite
from harness.amqp1_0.wire.performatives import Attach, Begin, Detach, End, Role, Source, Target
from harness.play.expect import ControlFailed, Outcome

WINDOW = 2048
"""Frames of transfers that our sessions take in and send out."""
_ON_SESSIONS = tuple(
    kind for name, kind in CLASSES.items()
    if "frame" in kind.spec.provides and name not in ("open", "begin", "close")
)  # fmt: skip
"""What may come on a session before the answer that is waited for."""


def the_begin(**fields: Any) -> Begin:
    """Give a begin as any server takes it, altered as given."""
    return Begin(None, 0, WINDOW, WINDOW).replace(**fields)


class Carrier(Protocol):
    """The connection that a session is on, as far as the session needs it."""

    link: Link
    container_id: str

    def send(self, *what: Said, channel: int = 0) -> None:
        """Send on a channel, in a single write."""

    def control(self, what: str, *kinds: type[Composite], place: int) -> Any:
        """Take the next performative of a place, which must be one of these. Raises ControlFailed."""


class Session:
    """A session, begun: `channel` is ours, `partner` the server's begin."""

    def __init__(self, connection: Carrier, channel: int, partner: Begin) -> None:
        self.connection = connection
        self.channel = channel
        self.partner = partner
        self.attached: list[AttachedLink] = []

    def send(self, *what: Said) -> None:
        """Send performatives on this session, in a single write."""
        self.connection.send(*what, channel=self.channel)

    def expect(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge what comes next on this session or for the whole connection. Raises Unmet."""
        return _performative(self.connection.link.expect(self.channel, *outcomes))

    def ask(self, performative: Composite, *answers: type[Composite]) -> Any:
        """Send a performative; the next of this session must be one of these. Raises ControlFailed."""
        self.send(performative)
        return self.control(describe(performative), *answers)

    def control(self, what: str, *kinds: type[Composite]) -> Any:
        """Take the next performative of this session, which must be one of these. Raises ControlFailed."""
        return self.connection.control(what, *kinds, place=self.channel)

    def receiver(self, address: str, **fields: Any) -> AttachedLink:
        """Attach a link on which we receive from an address. Raises ControlFailed."""
        return self._attach(Role.RECEIVER, source=Source(address), target=Target(), **fields)

    def sender(self, address: str, **fields: Any) -> AttachedLink:
        """Attach a link on which we send to an address. Raises ControlFailed."""
        given = {"initial_delivery_count": 0} | fields
        return self._attach(Role.SENDER, source=Source(), target=Target(address), **given)

    def _attach(self, role: bool, **fields: Any) -> AttachedLink:
        handle = len(self.attached)
        name = f"{self.connection.container_id}-{self.channel}-{handle}"
        answer = self.ask(Attach(name, handle, role).replace(**fields), Attach)
        far_end = answer.source if role is Role.RECEIVER else answer.target
        if far_end is None:
            # It says by this that it has no such terminus, and why in the detach that follows.
            raise ControlFailed("attach", describe(self.control("attach", Detach)))
        self.attached.append(AttachedLink(self, name, handle, answer))
        return self.attached[-1]

    def end(self) -> None:
        """End the session by ends. Raises ControlFailed."""
        self.send(End())
        while not isinstance(self.control("end", *_ON_SESSIONS), End):
            pass


class AttachedLink:
    """A link, attached: `handle` is ours, `partner` the server's attach."""

    def __init__(self, session: Session, name: str, handle: int, partner: Attach) -> None:
        self.session = session
        self.name = name
        self.handle = handle
        self.partner = partner

    def detach(self, closed: bool = True) -> None:
        """Detach the link, for good unless told otherwise. Raises ControlFailed."""
        self.session.send(Detach(self.handle, closed))
        while not isinstance(self.session.control("detach", *_ON_SESSIONS), Detach):
            pass


def _performative(seen: Observation) -> Any:
    return seen.performative if isinstance(seen, Received) else seen
