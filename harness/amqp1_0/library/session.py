"""Our own client's side of a session: windows, links by handle, deliveries by their ids (2.5)."""

from __future__ import annotations

from harness.amqp1_0.library.links import Link
from harness.amqp1_0.library.receiver import Receiver
from harness.amqp1_0.library.refusals import Fault, ended_by, local
from harness.amqp1_0.library.sender import Sender
from harness.amqp1_0.library.stream import Stream
from harness.amqp1_0.library.windows import WINDOW, Windows
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    ConnectionError_,
    Detach,
    Disposition,
    End,
    Flow,
    Role,
    SessionError,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.shims.contract import Refused

HANDLES = 255
"""The highest handle that we accept."""


class Session(Windows):
    """A session; `channel` is ours, `theirs_channel` the server's, `theirs` its begin."""

    def __init__(self, connection: Stream, channel: int) -> None:
        super().__init__(connection, channel)
        self.on = ""
        self.theirs: Begin | None = None
        self.theirs_channel: int | None = None
        self.gone: Refused | None = None
        self.links: dict[int, Link] = {}
        self.by_theirs: dict[int, Link] = {}
        self._heard_end = False

    # -- begin and end ---------------------------------------------------------------------------------

    def _ours(self, remote: int | None = None) -> Begin:
        return Begin(remote, self._next_outgoing_id, self._window, WINDOW, HANDLES)

    def begin(self) -> None:
        self.connection.say(self._ours(), self.channel)

    def answer(self, theirs: Begin, channel: int) -> None:
        """Answer a begin of the server's own."""
        self.begun(theirs, channel)
        self.connection.say(self._ours(channel), self.channel)

    def begun(self, theirs: Begin, channel: int) -> None:
        self.theirs, self.theirs_channel = theirs, channel
        self._next_incoming_id = Serial(theirs.next_outgoing_id)
        self._remote_window = theirs.incoming_window

    def end(self) -> None:
        """End it, and wait for the server's end. Raises Refused."""
        if self.gone is not None:
            raise self.gone
        self._outbox.clear()
        self.say(End())
        self.connection.until(lambda: self._heard_end)

    def refuse(self, fault: Fault) -> None:
        """End it because of an error of the server's; what comes until its end is discarded (2.5.4)."""
        self._outbox.clear()
        self.say(End(fault.error))
        self._end(fault.ends("session"))

    def _end(self, why: Refused) -> None:
        self.gone = self.gone or why
        for link in self.links.values():
            link.gone = link.gone or why
        if self.on:
            self.connection.tell(
                event="closed", on=self.on, level="session", condition=why.code, text=why.text
            )

    # -- what comes ------------------------------------------------------------------------------------

    def take(self, said: Composite, payload: bytes) -> None:
        """Take what has come on the session."""
        if isinstance(said, End):
            self._take_end(said)
        elif self._said_end:
            return
        elif self._is_errant(said):
            self.refuse(Fault(SessionError.ERRANT_LINK, "something for a link that is in error"))
        elif isinstance(said, Attach):
            self._take_attach(said)
        elif isinstance(said, Flow):
            self._take_flow(said)
        elif isinstance(said, Disposition):
            self._take_disposition(said)
        elif isinstance(said, Transfer):
            self._take_transfer(said, payload)
        elif isinstance(said, Detach) and (link := self._link_of(said.handle)) is not None:
            link.take_detach(said)

    def _is_errant(self, said: Composite) -> bool:
        """Say whether it is for a link that we have detached with an error, and no detach (2.6.5)."""
        if not isinstance(said, Flow | Transfer) or said.handle is None:
            return False
        link = self.by_theirs.get(said.handle)
        return link is not None and link.in_error

    def _take_end(self, said: End) -> None:
        self._heard_end = True
        self._outbox.clear()
        if not self._said_end:
            self._end(ended_by("session", said))
            self.say(End())
        self.connection.forget(self.channel, self.theirs_channel)

    def _link_of(self, handle: int) -> Link | None:
        """Give the link with a handle of the server's; without one this is an error."""
        link = self.by_theirs.get(handle)
        if link is None and not self._is_above_ours(handle):
            self.refuse(Fault(SessionError.UNATTACHED_HANDLE, f"handle {handle} is not attached"))
        return link

    def _is_above_ours(self, handle: int) -> bool:
        """Say whether a handle is above what our begin states, an error of the connection (2.7.2)."""
        if handle > HANDLES:
            self.connection.refuse(Fault(ConnectionError_.FRAMING_ERROR, f"handle {handle} is above ours"))
        return handle > HANDLES

    def _take_attach(self, said: Attach) -> None:
        if self._is_above_ours(said.handle):
            return
        if said.handle in self.by_theirs:
            self.refuse(Fault(SessionError.HANDLE_IN_USE, f"handle {said.handle} has a link"))
            return
        ours = [each for each in self.links.values() if each.name == said.name and each.role is not said.role]
        link = next((each for each in ours if each.theirs is None), None)
        if link is not None:
            self.by_theirs[said.handle] = link
            link.take_attach(said)
        elif said.name in self.errant and said.unsettled is None:
            self.refuse(Fault(SessionError.ERRANT_LINK, "a link that is in error is attached as it was"))
        else:
            self._turn_away(said)

    def _turn_away(self, said: Attach) -> None:
        """Answer an attach of the server's own by one without terminus, and detach (2.6.3)."""
        link = (Sender if said.role is Role.RECEIVER else Receiver)(self, said.name, self.free_handle(), "")
        self.links[link.handle] = self.by_theirs[said.handle] = link
        try:
            link.turn_away(said, Fault(AmqpError.NOT_FOUND, "we have no such terminus"))
        except Refused as failure:
            # Its name, which the answer has to say, is longer than the server's frames (2.8.15).
            self.refuse(Fault(AmqpError.FRAME_SIZE_TOO_SMALL, failure.text))

    def _take_flow(self, said: Flow) -> None:
        link = None
        if said.handle is not None and (link := self._link_of(said.handle)) is None:
            return
        self._next_incoming_id = Serial(said.next_outgoing_id)
        expected = Serial(0) if said.next_incoming_id is None else Serial(said.next_incoming_id)
        self._remote_window = (expected - self._next_outgoing_id) + said.incoming_window
        if link is not None:
            link.take_flow(said)
        elif said.echo:
            self.say(self.flow())
        self.flush()

    def _take_transfer(self, said: Transfer, payload: bytes) -> None:
        if self._window <= 0:
            self.refuse(Fault(SessionError.WINDOW_VIOLATION, "a transfer beyond our incoming-window"))
            return
        self._next_incoming_id += 1
        self._window -= 1
        if (link := self._link_of(said.handle)) is None:
            return
        link.take_transfer(said, payload)
        if self._window <= WINDOW // 2:
            self._window = WINDOW
            self.say(self.flow())

    def _take_disposition(self, said: Disposition) -> None:
        last = Serial(said.first if said.last is None else said.last)
        if said.role is Role.SENDER:
            for link in self.links.values():
                link.take_settled(Serial(said.first), last, bool(said.settled))
            return
        told = [each for number, each in self.sent.items() if Serial(said.first) <= number <= last]
        for each in told:
            each.link.take_outcome(each, said)

    # -- links -----------------------------------------------------------------------------------------

    def free_handle(self) -> int:
        """Give the lowest free handle. Raises Refused where the server takes no more."""
        highest = self.theirs.handle_max if self.theirs is not None else 0
        number = next((each for each in range(highest + 1) if each not in self.links), None)
        if number is None:
            raise local(f"the server takes no handle above {highest}")
        return number

    def suspend(self) -> None:
        """Keep the links that outlive the session; the others expire with it (2.6, Part 3)."""
        termini = self.connection.termini
        for link in self.links.values():
            if link.outlives and not link.ending:
                termini[link.key] = link
        for key, link in list(termini.items()):
            if link.session is self and not link.outlives:
                del termini[key]

    def drop(self, link: object) -> None:
        """Forget a link, and free its handles."""
        super().drop(link)
        for handles in (self.links, self.by_theirs):
            for handle in [handle for handle, each in handles.items() if each is link]:
                del handles[handle]
