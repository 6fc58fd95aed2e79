"""Our own client's side of links: attaching, detaching, and attaching again (2.6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from harness.amqp1_0.library.refusals import Fault, ended_by
from harness.amqp1_0.library.resuming import Kept, Key, Resumption, fitting
from harness.amqp1_0.library.windows import Windows
from harness.amqp1_0.wire.performatives import AmqpError, Attach, Detach, Flow, Role, Transfer
from harness.amqp1_0.wire.serial import Serial
from harness.amqp1_0.wire.types import Symbol
from harness.shims.contract import Refused


class Link(ABC):
    """A link; `theirs` is the server's attach, `handle` ours, `detached` whether both have detached it.

    One that `outlives` its session is asked never to expire.
    """

    role: ClassVar[bool]

    def __init__(self, session: Windows, name: str, handle: int, address: str) -> None:
        self.session = session
        self.name = name
        self.handle = handle
        self.address = address
        self.outlives = False
        self.on = ""
        self.theirs: Attach | None = None
        self.gone: Refused | None = None
        self.detached = False
        self.delivery_count = Serial(0)
        self.reduces = False
        """Whether only deliveries of before may come or go, because one side could not name all (2.7.3)."""
        self._said_detach: Detach | None = None
        self._whole: bool | None = None
        """Whether the map by which we resume it is; None where we attach it anew."""

    @property
    def key(self) -> Key:
        """What it is known by on both sides, however often it is attached."""
        return self.name, self.role

    # -- attach and detach -----------------------------------------------------------------------------

    def attach(self, **fields: Any) -> None:
        """Attach it, and wait for the answer. Raises Refused."""
        self._attached = fields
        self.session.say(self._resuming(self._ours(**fields)))
        self.session.connection.until(lambda: self.theirs, self.session, self)
        if self._far_end() is None:
            # The server says by this that there is no link, and why by the detach that follows.
            self.session.connection.until(lambda: self.gone, self.session)
        if self.gone is not None:
            raise self.gone

    def _resuming(self, said: Attach) -> Attach:
        """Give our attach with what is unsettled on the link, if it has deliveries of before (2.6.13)."""
        former = self.session.connection.termini.pop(self.key, None)
        if former is not None:
            self._take_over(former)
        kept = list(self._unsettled())
        # Where its endpoint was destroyed we may not reattach it, whether or not something is left (2.6.5).
        if not kept and self.key not in self.session.connection.in_error:
            return said
        unsettled, self._whole = fitting(kept, said, self.session.connection.largest)
        return said.replace(unsettled=unsettled, incomplete_unsettled=None if self._whole else True)

    @abstractmethod
    def _take_over(self, former: Any) -> None:
        """Have what is unsettled on the link as it was attached before."""

    @abstractmethod
    def _unsettled(self) -> Iterable[Kept]:
        """Give the deliveries of before that are not settled."""

    @abstractmethod
    def _resume(self, resumption: Resumption) -> None:
        """Go on with the deliveries that both sides have, and settle what is to be settled."""

    @property
    def _expiry(self) -> Symbol | None:
        """When our termini expire, where we say it (Part 3)."""
        return Symbol("never") if self.outlives else None

    @abstractmethod
    def _ours(self, **fields: Any) -> Attach:
        """Give our attach."""

    @abstractmethod
    def _far_end(self) -> Any:
        """Give the server's terminus."""

    def take_attach(self, said: Attach) -> None:
        self.theirs = said
        far = self._far_end()
        if far is not None and self.address and getattr(far, "address", None) != self.address:
            self.refuse(Fault(AmqpError.INVALID_FIELD, "the server attached another address"))
        elif self._whole is not None and far is not None:
            resumption = Resumption(self._whole, said)
            self.reduces = resumption.reduces
            self._resume(resumption)

    def turn_away(self, said: Attach, fault: Fault) -> None:
        """Answer an attach that we have nothing for."""
        self.theirs = said
        count = 0 if self.role is Role.SENDER else None
        self.session.say(Attach(said.name, self.handle, self.role, initial_delivery_count=count))
        self.refuse(fault)

    def detach(self, closed: bool) -> None:
        """Detach it, for good or not, and wait for the answer. Raises Refused."""
        if self.gone is not None:
            raise self.gone
        self._say_detach(Detach(self.handle, closed or None))
        self.session.connection.until(lambda: self.detached, self.session)

    def refuse(self, fault: Fault) -> None:
        """Detach because of an error of the server's (2.6.5)."""
        self._say_detach(Detach(self.handle, True, fault.error))
        self.session.errant.add(self.name)
        self._end(fault.ends("link"))

    def _say_detach(self, said: Detach) -> None:
        self._said_detach = said
        self.session.say(said)

    def _end(self, why: Refused) -> None:
        self.gone = self.gone or why
        self.tell(event="closed", level="link", condition=why.code, text=why.text)

    def take_detach(self, said: Detach) -> None:
        answered = self._said_detach is not None
        if not answered:
            if said.error is not None and not said.closed:
                self.session.connection.in_error.add(self.key)
            self._end(ended_by("link", said))
            self._say_detach(Detach(self.handle, said.carried("closed")))
        elif said.closed and self._said_detach is not None and not self._said_detach.closed:
            self._close_too()
        self.session.drop(self)
        self.detached = True
        if said.closed or (self._said_detach is not None and self._said_detach.closed):
            self.session.forget(self)
        else:
            self.session.connection.termini[self.key] = self

    def _close_too(self) -> None:
        """Close what we only detached and the server has closed: reattach it first (2.6.6)."""
        self.session.say(self._ours(**self._attached))
        self.session.say(Detach(self.handle, True))

    def tell(self, **event: Any) -> None:
        if self.on:
            self.session.connection.tell(on=self.on, **event)

    # -- what comes ------------------------------------------------------------------------------------

    def flow(self, **fields: Any) -> Flow:
        """Give a flow that states session and link."""
        given = {"handle": self.handle, "delivery_count": self.delivery_count} | fields
        return self.session.flow().replace(**given)

    @abstractmethod
    def take_flow(self, said: Flow) -> None:
        """Take a flow of the link."""

    @abstractmethod
    def take_transfer(self, said: Transfer, payload: bytes) -> None:
        """Take a transfer of the link."""

    def take_settled(self, first: Serial, last: Serial, settled: bool) -> None:  # noqa: B027
        """Take what the server says of its own deliveries."""

    @property
    def in_error(self) -> bool:
        """Whether we have detached it because of an error."""
        return self._said_detach is not None and self._said_detach.error is not None

    @property
    def ending(self) -> bool:
        """Whether we have detached it."""
        return self._said_detach is not None
