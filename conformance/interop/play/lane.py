"""One client at one broker, case after case: what it sends, what it gets, and what it does with that.

A lane has the client's shim behind a relay, our own end at the broker, and two queues: `out`, to which the
client sends, and `into`, from which it gets. What goes wrong costs its case: then all of this is made anew.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from conformance.interop.cases import Case
from conformance.interop.outcomes import Form, Outcome
from conformance.interop.play.brokers import Broker
from conformance.interop.play.passing import Content, Ended
from conformance.interop.play.protocol import BrokerEnded, OwnEnd, Talk, Wire
from conformance.interop.play.relay import Relay, until
from conformance.interop.play.seen import OUTCOMES, Failed, Got, Sent
from conformance.interop.play.shims import Patient
from harness.shims.contract import Refused, Shim, ShimLost

PATIENCE = 3.0
"""Seconds that a message may take on a leg."""
LARGE = 1_000_000
"""Octets for which a leg may take a second more; messages that have more are few at once."""
IDLE = 1.5
"""Seconds after which a connection is made anew: who sends no heartbeats by itself may have lost it."""
TRIES = 2
"""Times that our own end is tried before a broker is started again: it may only be late."""
VAIN = 3
"""Times in a row that a client may fail to connect before it is not asked any more."""


class Lane:
    """A client at a broker; `start` gives a fresh shim and what ends it."""

    def __init__(
        self,
        wire: Wire,
        broker: Broker,
        start: Callable[[], tuple[Shim, Callable[[], None]]],
        address: Callable[[str], str],
    ) -> None:
        self.wire, self.broker = wire, broker
        self.lock = threading.RLock()
        self.version = ""
        self._start, self._address = start, address
        self._shim: Shim | None = None
        self._end: Callable[[], None] = lambda: None
        self._own: OwnEnd | None = None
        self._talk: Talk | None = None
        self._relay = Relay(broker.place, wire.stream)
        self._out = self.into = self._aside = ""
        self._left: list[str] = []
        self._used = self._patience = 0.0
        self._vain: list[Failed] = []
        self._extras: dict[str, Any] = {"heartbeat": 0, "mechanism": broker.login.mechanism}

    def __enter__(self) -> Lane:
        self._relay.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        self._end()
        self._relay.__exit__()

    # -- legs ------------------------------------------------------------------------------------------

    def send(self, case: Case) -> Sent:
        """Have the client send a case, and take it from the broker. Raises Failed."""
        with self.lock, self._room(case):
            talk, own = self._ready()
            within = self.within(case)
            try:
                self._told(lambda: talk.send(case.message, self._out, **case.send))
            except Failed as failure:
                if (sent := self._overtaken(failure)) is None:
                    raise
                return sent
            form = self._on_wire(self._relay.sent(within), "sent")
            try:
                return Sent(form, self._passed(own, within))
            except BrokerEnded as failure:
                return Sent(form, self._broke(failure))

    def _overtaken(self, failure: Failed) -> Sent | None:
        """Give what had been sent before the broker's end overtook the client's answer: octets judge."""
        content = self._relay.sent(0.0) if failure.outcome is Outcome.CLOSED else None
        if not isinstance(content, Content):
            return None
        return Sent(content.form, Failed(Outcome.CLOSED, self._why(self._relay.ended(), failure.detail)))

    def _passed(self, own: OwnEnd, within: float) -> Form | Failed:
        deadline = time.monotonic() + within
        while (content := own.take(0.05)) is None:
            if ended := self._relay.ended():
                return self._given_up(Failed(Outcome.CLOSED, str(ended)))
            if time.monotonic() > deadline:
                return self._given_up(Failed(Outcome.LOST, "the broker has not delivered it"))
        return content.form

    def again(self, act: Callable[[], Any]) -> Any:
        """Do something again if the broker ended meanwhile, whoever made it: that is not of this case."""
        ends = self.broker.ends
        try:
            found = act()
            lost = getattr(found, "after", found)
        except Failed as failure:
            found, lost = None, failure
        if isinstance(lost, Failed) and lost.outcome is Outcome.LOST:
            with suppress(Failed):
                self.prepare()
            if self.broker.ends != ends:
                return act()
        if found is None:
            raise lost
        return found

    def publish(self, case: Case, form: Form) -> Form | Failed:
        """Send a form by our own end to our own end, through the broker; the client has no part in it."""
        with self.lock, self._room(case):
            try:
                own = self._own = self._own or self._furnished()
                own.publish(self._out, form)
                return self._passed(own, self.within(case))
            except BrokerEnded as failure:
                return self._broke(failure)
            except Failed as failure:
                return failure

    def get(self, case: Case, form: Form | None) -> Got:
        """Have the client get a form that our own end publishes, or what is there. Raises Failed."""
        with self.lock, self._room(case, fresh=form is not None):
            talk, own = self._ready(awaited=form is None)
            within = self.within(case)
            try:
                if form is not None:
                    own.publish(self.into, form)
                if not until(lambda: own.ready(self.into), within):
                    raise self._given_up(Failed(Outcome.LOST, "the broker has no such message"))
                if case.again:
                    own.turn_back(self.into)
                    until(lambda: own.ready(self.into), within)
            except BrokerEnded as failure:
                raise self._broke(failure) from None
            fetch = getattr(talk, case.by)
            message = self._told(lambda: fetch(self.into, case.settled, within))
            delivered = self._relay.delivered(within if message else 0.1)
            if message is None:
                raise self._given_up(
                    Failed(Outcome.LOST, self._why(delivered, "the client says that nothing is there"))
                )
            if not isinstance(delivered, Content):
                raise self._given_up(Failed(Outcome.LOST, self._why(delivered, "nothing was delivered")))
            echo = self._echoed(talk, case, str(message["token"]), within)
            if isinstance(echo, Form) and echo.octets != delivered.form.octets:
                self._survives(talk)
            return Got(delivered, message, echo)

    def _survives(self, talk: Talk) -> None:
        """See whether the broker ends the client for what it has sent again: the next case must not pay."""
        try:
            self._told(lambda: talk.fence(self.into))
        except Failed as failure:
            if failure.outcome is Outcome.UNSUPPORTED:
                self.hang_up()

    def _echoed(self, talk: Talk, case: Case, token: str, within: float) -> Form | Failed:
        try:
            self._told(lambda: talk.echo(token, self._aside))
            form = self._on_wire(self._relay.sent(within), "echoed")
            if not case.settled:
                self._told(lambda: talk.settle(token))
        except Failed as failure:
            return failure
        return form

    def take_out(self, case: Case, other: Lane) -> Form:
        """Have the client send a case to where `other` gets it from. Raises Failed."""
        with self.lock:
            talk, _ = self._ready()
            self._told(lambda: talk.send(case.message, other.into, **case.send))
            return self._on_wire(self._relay.sent(self.within(case)), "sent")

    @contextmanager
    def _room(self, case: Case, fresh: bool = True) -> Iterator[None]:
        """Wait until there is room for a large message, and leave what carried it behind.

        Else what many frames do to a connection falls on the next. It is made anew before, too, unless the
        message is there already: some libraries are told how long anything may take when they connect.
        """
        if case.size < LARGE:
            yield
            return
        with self.broker.large:
            if fresh:
                self._leave_for(case)
            try:
                yield
            finally:
                self.rest()

    def _leave_for(self, case: Case) -> None:
        self.hang_up()
        self._patience = self.within(case)

    def rest(self) -> None:
        """Leave what has carried a large message."""
        self.hang_up()
        self._patience = 0.0

    # -- what can go wrong -----------------------------------------------------------------------------

    @staticmethod
    def within(case: Case) -> float:
        return PATIENCE + case.size / LARGE

    def _told(self, act: Callable[[], Any]) -> Any:
        """Tell the client something. Raises Failed."""
        try:
            return act()
        except Refused as refusal:
            failed = Failed(OUTCOMES[refusal.kind], refusal.text[:500], str(refusal.kind), refusal.native)
            if failed.outcome is Outcome.UNSUPPORTED:
                raise failed from None
            raise self._given_up(failed) from None
        except ShimLost as failure:
            self._end()
            self._shim = None
            raise self._given_up(Failed(Outcome.CRASHED, str(failure))) from None

    def _on_wire(self, seen: Content | Ended | None, what: str) -> Form:
        if isinstance(seen, Content):
            return seen.form
        outcome = Outcome.CLOSED if isinstance(seen, Ended) else Outcome.LOST
        raise self._given_up(Failed(outcome, self._why(seen, f"nothing was {what}")))

    @staticmethod
    def _why(seen: object, otherwise: str) -> str:
        return str(seen) if isinstance(seen, Ended) else otherwise

    def _broke(self, failure: BrokerEnded) -> Failed:
        outcome = Outcome.CLOSED if failure.why else Outcome.LOST
        return self._given_up(Failed(outcome, str(failure)))

    def _given_up(self, failed: Failed) -> Failed:
        """Leave everything behind; the next case begins anew."""
        self.hang_up()
        return failed

    def hang_up(self) -> None:
        """Leave all connections; the next case makes its own."""
        own, self._own = self._own, None
        if own is not None:
            self._left += [self._out, self.into]
            self._tidy(own)
            own.close()
        self._drop_client()

    def _drop_client(self) -> None:
        self._talk = None
        if self._shim is not None:
            try:
                self._shim.do("reset")
            except (Refused, ShimLost):
                self._end()
                self._shim = None

    def _tidy(self, own: OwnEnd) -> None:
        """Remove the queues that were left behind; where the broker has ended us, our next end does.

        One that the broker refuses to remove, as it does not outlive a restart of it, is none any more.
        """
        try:
            while self._left:
                own.remove(self._left[-1])
                self._left.pop()
        except BrokerEnded as failure:
            if failure.why is not None:
                self._left.pop()

    def prepare(self, case: Case | None = None) -> None:
        """Make sure that everything is there, so that others can send a case to `into`. Raises Failed."""
        with self.lock:
            if case is not None and case.size >= LARGE:
                self._leave_for(case)
            self._ready()

    def _ready(self, awaited: bool = False) -> tuple[Talk, OwnEnd]:
        """Give the client, connected, and our own end with its queues. Raises Failed.

        Where a message is `awaited` the queues with it are left as they are, however long that has taken: a
        client that lives only while somebody talks to it may have been ended meanwhile.
        """
        idle, self._used = time.monotonic() - self._used, time.monotonic()
        fresh = (awaited or idle < IDLE) and not self._relay.ended()
        if self._talk is not None and self._own is not None and fresh:
            return self._talk, self._own
        if awaited and self._own is not None:
            self._drop_client()
        else:
            self.hang_up()
            self._own = self._furnished()
        talk = self._connected()
        own = self._own or self._furnished()
        self._own, self._talk, self._used = own, talk, time.monotonic()
        return talk, own

    def _furnished(self) -> OwnEnd:
        """Give our own end with its queues, at a broker that is started again if need be. Raises Failed."""
        ends = self.broker.ends
        for _ in range(TRIES):
            with suppress(BrokerEnded):
                return self._furnish()
        self.broker.up_again(ends)
        try:
            return self._furnish()
        except BrokerEnded as failure:
            raise Failed(Outcome.LOST, str(failure)) from None

    def _connected(self) -> Talk:
        """Have the client connect, if need be in a fresh program: an old one may have run out of something.

        One that has failed to a few times in a row is not asked any more. Raises Failed.
        """
        if len(self._vain) >= VAIN:
            raise self._vain[-1]
        for fresh in (False, True):
            self._relay.forget()
            try:
                talk: Talk = self._told(lambda: self._connect(self._running()))
            except Failed as failure:
                failure.detail = f"connecting: {failure.detail}"
                if fresh or failure.outcome not in (Outcome.LOST, Outcome.CRASHED):
                    self._vain.append(failure)
                    raise
                self._end()
                self._shim = None
            else:
                self._vain.clear()
                return talk
        raise AssertionError("the second time it is told what came of it")

    def _connect(self, shim: Shim) -> Talk:
        """Connect without heartbeats, for most of the time nobody talks, and by the mechanism of the broker.

        Some libraries would choose another one, whatever it offers. What one cannot be told is left to it.
        """
        login = self.broker.login
        who = {"user": login.user, "password": login.password, "vhost": login.virtual_host}
        where: dict[str, Any] = {"host": "127.0.0.1", "port": self._relay.port, **who}
        while True:
            try:
                return self.wire.talk(shim, {**where, **self._extras})
            except Refused as refusal:
                if not self._extras or OUTCOMES[refusal.kind] is not Outcome.UNSUPPORTED:
                    raise
                self._extras.popitem()

    def _furnish(self) -> OwnEnd:
        if self._left:
            before = self.wire.own(self.broker.place, self.broker.login)
            self._tidy(before)  # the broker may end it
            before.close()
        own = self.wire.own(self.broker.place, self.broker.login)
        name = f"interop-{secrets.token_hex(6)}"
        self._out, self.into = (
            own.place(self._address(f"{name}-out")),
            own.place(self._address(f"{name}-into")),
        )
        self._aside = self.wire.unroutable
        if not self._aside:
            self._aside = own.place(self._address(f"{name}-aside"))
            own.listen(self._aside, kept=False)
        own.listen(self._out)
        return own

    def _running(self) -> Shim:
        if self._shim is None:
            try:
                shim, self._end = self._start()
                self._shim = Patient(shim, lambda: self._patience)
                self.version = str(self._shim.do("hello").get("version", ""))
            except (ShimLost, Refused) as failure:
                self._shim = None
                raise Failed(Outcome.CRASHED, str(failure)) from None
        return self._shim
