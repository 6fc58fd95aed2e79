"""Our own client's connection with its sessions (2.5.1)."""

from __future__ import annotations

from collections.abc import Callable

from harness.amqp1_0.library.refusals import Fault, local
from harness.amqp1_0.library.session import Session
from harness.amqp1_0.library.stream import Stream, Wanted
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import AmqpError, Begin
from harness.wire.transport import Transport


class Connection(Stream):
    """A connection; `sessions` are by our channels, `by_theirs` by the server's."""

    def __init__(
        self, transport: Transport, wanted: Wanted, within: float, on: str, tell: Callable[..., None]
    ) -> None:
        super().__init__(transport, wanted, within, on, tell)
        self.sessions: dict[int, Session] = {}
        self.by_theirs: dict[int, Session] = {}

    def begin(self) -> Session:
        """Begin a session on the lowest free channel. Raises Refused."""
        session = self._new_session()
        session.begin()
        self.until(lambda: session.theirs is not None, session)
        return session

    def _new_session(self) -> Session:
        highest = self.theirs.channel_max if self.theirs is not None else 0
        number = next((each for each in range(highest + 1) if each not in self.sessions), None)
        if number is None:
            raise local(f"the server takes no channel above {highest}")
        session = self.sessions[number] = Session(self, number)
        return session

    def _take_begin(self, said: Begin, channel: int) -> None:
        if channel in self.by_theirs:
            self.refuse(Fault(AmqpError.NOT_ALLOWED, f"a begin on channel {channel}, which is in use"))
        elif said.remote_channel is None:
            session = self._new_session()
            self.by_theirs[channel] = session
            session.answer(said, channel)
        else:
            session_of = self.sessions.get(said.remote_channel)
            if session_of is None or session_of.theirs is not None:
                self.refuse(Fault(AmqpError.NOT_ALLOWED, "a begin that answers none of ours"))
                return
            self.by_theirs[channel] = session_of
            session_of.begun(said, channel)

    def forget(self, ours: int, theirs: int | None) -> None:
        """Free both channels of a session that is over."""
        session = self.sessions.pop(ours, None)
        if session is not None:
            session.suspend()
        if theirs is not None:
            self.by_theirs.pop(theirs, None)

    def end(self) -> None:
        for session in self.sessions.values():
            session.suspend()
        super().end()

    def _take_on_session(self, said: Composite, payload: bytes, channel: int) -> None:
        session = self.by_theirs.get(channel)
        if isinstance(said, Begin):
            self._take_begin(said, channel)
        elif session is None:
            self.refuse(Fault(AmqpError.ILLEGAL_STATE, f"a frame on channel {channel}, which has no session"))
        else:
            session.take(said, payload)
