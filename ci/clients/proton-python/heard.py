"""What Proton tells of a connection, by its events."""

from typing import TYPE_CHECKING, Any

from contract import Refused
from proton.handlers import MessagingHandler

if TYPE_CHECKING:
    from shim import Proton


class Heard(MessagingHandler):  # type: ignore[misc]
    """What Proton tells of one connection."""

    def __init__(self, shim: "Proton", name: str, channel_max: int | None) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=True, peer_close_is_error=False)
        self._shim, self._name, self._channel_max = shim, name, channel_max

    def on_connection_bound(self, event: Any) -> None:
        """Set what can be set only of the transport."""
        if self._channel_max is not None:
            event.transport.channel_max = self._channel_max

    def _closed(self, level: str, endpoint: Any) -> None:
        condition = endpoint.remote_condition
        name, text = (condition.name, condition.description) if condition else ("", "")
        on = self._name if level == "connection" else endpoint.told_as
        if on in self._shim.closing:  # the answer to ours, unless it brings a reason
            self._shim.closing.discard(on)
            self._shim.closed_by_us.add(on)
            if not condition:
                return
        self._shim.ended(on, Refused("closed", text or "", "proton.Condition", level, str(name)))

    def on_connection_remote_close(self, event: Any) -> None:
        """Hear of the end of a connection."""
        self._closed("connection", event.connection)

    def on_session_remote_close(self, event: Any) -> None:
        """Hear of the end of a session."""
        self._closed("session", event.session)

    def on_link_remote_close(self, event: Any) -> None:
        """Hear of the end of a link."""
        self._closed("link", event.link)

    def on_link_remote_detach(self, event: Any) -> None:
        """Hear that a link was detached, which is answered by the same."""
        self._closed("link", event.link)
        event.link.detach()

    def on_transport_error(self, event: Any) -> None:
        """Hear why the transport is gone."""
        condition = event.transport.condition
        name, text = str(condition.name), str(condition.description)
        if name == "amqp:unauthorized-access":
            why = Refused("closed", text, name, "connection", name)
        elif name.startswith("amqp:") and "aborted" not in text:
            why = Refused("local", text, name)
        else:
            why = Refused("lost", text, name)
        self._shim.ended(self._name, why)

    def on_disconnected(self, _: Any) -> None:
        """Hear that the socket is gone."""
        if self._name not in self._shim.closed_by_us:
            self._shim.ended(self._name, Refused("lost", "the transport is closed", "on_disconnected"))

    def on_session_error(self, event: Any) -> None:
        """Let the connection live, which the base class would close."""

    def on_link_error(self, event: Any) -> None:
        """Let the connection live, which the base class would close."""

    def on_link_flow(self, event: Any) -> None:
        """Use up the credit that is to be drained, as is left to who sends."""
        link = event.link
        if link.is_sender and link.drain_mode and not link.queued:
            link.drained()

    def on_message(self, event: Any) -> None:
        """Get a message."""
        self._shim.got(event)

    def on_accepted(self, event: Any) -> None:
        """Settle what has an outcome; it is told once."""
        self._shim.settled(event.delivery)
        event.delivery.settle()

    on_rejected = on_released = on_accepted

    def on_settled(self, event: Any) -> None:
        """Hear that a message sent is settled."""
        if event.link.is_sender:
            self._shim.settled(event.delivery)
        elif event.delivery.local_state:  # of second: we have said what became of it
            event.delivery.settle()
