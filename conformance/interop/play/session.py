"""All clients at one broker, side by side: first they send, then each gets what any of them sent, then pairs.

Most of the time somebody is waited for, so every client has a thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol
from zlib import crc32

from conformance.interop.cases import Case
from conformance.interop.comparing import SECTIONS, compare_messages, fields
from conformance.interop.outcomes import Form, Leg, Outcome, Stage
from conformance.interop.play.lane import LARGE, Lane
from conformance.interop.play.measuring import Meter, untried
from conformance.interop.play.seen import Failed, Got, Sent

NOT_PASSED = "!"
"""Stands behind the name of a form that has not come out of the broker."""
SAMPLE = 10
"""Of so many pairs one is played."""


class Follower(Protocol):
    """Is told how far a session is."""

    def expect(self, total: int) -> None:
        """So many legs are to be measured, as far as can be said now."""

    def move(self, outcome: str, what: str) -> None:
        """A leg has been measured."""


@dataclass
class Played:
    """What is known of one broker so far; filled by several threads."""

    legs: list[Leg] = field(default_factory=list)
    forms: dict[str, dict[str, Form]] = field(default_factory=dict)
    """By case: the forms that go into the broker, by their keys."""
    sent: dict[tuple[str, str], str] = field(default_factory=dict)
    """By client and case: the key of what it sends."""
    changing: set[tuple[str, str]] = field(default_factory=set)
    """Clients and cases of which what is sent is not what was asked for: it may be another form each time."""
    passed: dict[tuple[str, str], Form | Failed] = field(default_factory=dict)
    """By case and key: what comes out of the broker."""
    received: dict[tuple[str, str, str], Leg] = field(default_factory=dict)
    """By client, case and key."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Session:
    """The lanes of all clients at one broker; `knows` says of a leg that it is known to fail like that."""

    def __init__(
        self,
        meter: Meter,
        lanes: Mapping[str, Lane],
        cases: Sequence[Case],
        follower: Follower,
        knows: Callable[[Leg], bool] = lambda _: False,
    ) -> None:
        self._meter, self._lanes, self._cases, self._follower = meter, lanes, cases, follower
        self._knows = knows
        self.played = Played()
        self.seconds: dict[str, float] = {}
        self._stopped = False

    def play(self) -> list[Leg]:
        """Play all; give the legs in an order that is the same each time."""
        for phase in (self._send, self._receive, self._pair):
            self._follower.expect(self._expected())
            self._side_by_side(phase)
        order = {case.name: number for number, case in enumerate(self._cases)}
        stages = {stage: number for number, stage in enumerate(Stage)}
        return sorted(
            self.played.legs,
            key=lambda each: (order[each.case], stages[each.leg], each.client, each.other, each.form),
        )

    def _side_by_side(self, phase: Callable[[str], None]) -> None:
        with ThreadPoolExecutor(len(self._lanes)) as pool:
            try:
                list(pool.map(partial(self._timed, phase), self._lanes))
            except BaseException:
                self._stopped = True  # the others end with what they are at
                raise

    def _timed(self, phase: Callable[[str], None], client: str) -> None:
        began = time.monotonic()
        phase(client)
        self.seconds[client] = self.seconds.get(client, 0.0) + time.monotonic() - began

    def _going(self) -> Iterator[Case]:
        """Give the cases one after the other, until somebody has stopped it all."""
        return (case for case in self._cases if not self._stopped)

    def _expected(self) -> int:
        """Say how many legs there will be, as far as forms are known."""
        forms = sum(map(len, self.played.forms.values())) or len(self._cases)
        pairs = sum(
            is_played(one, other, self._meter.blank.broker, case.name)
            for one in self._lanes
            for other in self._lanes
            for case in self._cases
        )
        return len(self._lanes) * (len(self._cases) + forms) + forms + pairs

    def _keep(self, leg: Leg) -> None:
        with self.played.lock:
            self.played.legs.append(leg)
        self._follower.move(str(leg.outcome), f"{leg.other or leg.client} {leg.leg} {leg.case}")

    # -- sending ---------------------------------------------------------------------------------------

    def _send(self, client: str) -> None:
        lane, played = self._lanes[client], self.played
        for case in self._going():
            leg, seen = self._sent(lane, client, case)
            if self._doubted(leg) or self._lost_behind(case, seen):
                leg, seen = self._sent(lane, client, case)
            if isinstance(seen, Failed):
                self._keep(leg)
                continue
            key = self._came(case, seen.form, seen.after)
            self._keep(replace(leg, form=key))
            with played.lock:
                if leg.outcome is Outcome.CHANGED:
                    played.changing.add((client, case.name))
                played.sent[client, case.name] = key
        if client == next(iter(self._lanes)):
            self._send_ours(lane)

    def _sent(self, lane: Lane, client: str, case: Case) -> tuple[Leg, Sent | Failed]:
        seen: Sent | Failed
        try:
            seen = lane.again(partial(lane.send, case))
        except Failed as failure:
            seen = failure
        return self._meter.sent(case, client, lane.version, seen), seen

    def _lost_behind(self, case: Case, seen: Sent | Failed) -> bool:
        """Say whether what was sent failed in the broker, as nobody knew that it does."""
        if isinstance(seen, Failed) or isinstance(seen.after, Form):
            return False
        return self._doubted(self._meter.passed(case, seen.form, seen.after))

    def _doubted(self, leg: Leg) -> bool:
        """Say whether a leg is measured a second time: it failed by time, and nobody knew that it does.

        A machine may be late, which each library tells in its own words, and one that is slow has not failed;
        but no machine changes a value.
        """
        return leg.fails and leg.outcome is not Outcome.CHANGED and not self._knows(leg)

    def _send_ours(self, lane: Lane) -> None:
        """Send by our own end what the document has for a case, and the spellings that it lists."""
        for case in self._cases:
            for form in self._ours(case):
                if (case.name, self._meter.key(case, form)) not in self.played.passed:
                    self._came(case, form, lane.again(partial(lane.publish, case, form)))

    def _ours(self, case: Case) -> Iterable[Form]:
        with suppress(ValueError):  # the protocol may have no such type
            yield self._meter.wire.form(case.message)
        for octets in case.forms:
            yield self._meter.wire.spelled(case.message, octets)

    def _came(self, case: Case, form: Form, after: Form | Failed) -> str:
        """Note what went into the broker and came out, once for each form; give the name of the form.

        One that has not come out has another name than one that has: octets may be cut into frames otherwise.
        """
        key = self._meter.key(case, form) + (NOT_PASSED if isinstance(after, Failed) else "")
        with self.played.lock:
            known = (case.name, key) in self.played.passed
            if not known:
                self.played.forms.setdefault(case.name, {})[key] = form
                self.played.passed[case.name, key] = after
        if not known:
            self._keep(replace(self._meter.passed(case, form, after), form=key))
        return key

    # -- receiving -------------------------------------------------------------------------------------

    def _receive(self, client: str) -> None:
        lane, played = self._lanes[client], self.played
        for case in self._going():
            for key, form in sorted(played.forms.get(case.name, {}).items()):
                passed = played.passed[case.name, key]
                if isinstance(passed, Failed):
                    leg = untried(self._meter, case, client, lane.version, form, passed.detail)
                    leg = replace(leg, form=key)
                else:
                    leg = self._got(lane, client, case, form)
                    leg = self._got(lane, client, case, form) if self._doubted(leg) else leg
                with played.lock:
                    played.received[client, case.name, key] = leg
                self._keep(leg)

    def _got(self, lane: Lane, client: str, case: Case, form: Form) -> Leg:
        try:
            seen = lane.again(partial(lane.get, case, form))
        except Failed as failure:
            return self._meter.got(case, client, lane.version, form, failure)
        return self._meter.got(case, client, lane.version, form, seen)

    # -- pairs -----------------------------------------------------------------------------------------

    def _pair(self, client: str) -> None:
        for case in self._going():
            for sender in self._lanes:
                key = self.played.sent.get((sender, case.name))
                if key is None or not is_played(sender, client, self._meter.blank.broker, case.name):
                    continue
                if isinstance(self.played.passed[case.name, key], Form):
                    leg = self._proved(sender, client, case)
                    self._keep(self._proved(sender, client, case) if self._doubted(leg) else leg)

    def _proved(self, sender: str, client: str, case: Case) -> Leg:
        """Play a pair; what comes of it has to be what its legs let expect."""
        lane, sent = self._lanes[client], self.played.sent[sender, case.name]
        form = self.played.forms[case.name][sent]
        seen: Got | Failed
        try:
            form, seen = lane.again(partial(self._through, sender, client, case))
        except Failed as failure:
            seen = failure
        leg = replace(self._meter.got(case, client, lane.version, form, seen), leg=Stage.PLAYED, other=sender)
        expected = self.played.received.get((client, case.name, self._meter.key(case, form)))
        if expected is None and (sender, case.name) in self.played.changing:
            expected = self.played.received.get((client, case.name, sent))
        if why := contradiction(case, expected, leg):
            return replace(leg, outcome=Outcome.CONTRADICTED, detail=f"{why}; {leg.detail}".rstrip("; "))
        return leg

    def _through(self, sender: str, client: str, case: Case) -> tuple[Form, Got]:
        """Have one client send to where another gets it. Raises Failed."""
        lane = self._lanes[client]
        with ExitStack() as both:
            for name in sorted({sender, client}):  # in one order, so that no two wait for each other
                both.enter_context(self._lanes[name].lock)
                self._lanes[name].prepare(case)
            try:
                form = self._lanes[sender].take_out(case, lane)
                return form, lane.get(case, None)
            finally:
                if case.size >= LARGE:
                    self._lanes[sender].rest()


def is_played(sender: str, receiver: str, broker: str, case: str) -> bool:
    """Say whether a pair is played for real: each with itself, and of the others a tenth, always the same."""
    return sender == receiver or crc32(f"{sender} {receiver} {broker} {case}".encode()) % SAMPLE == 0


def contradiction(case: Case, expected: Leg | None, played: Leg) -> str:
    """Say in what a played pair is not what the leg to the receiver lets expect; empty if it is.

    Who changes a value may change it otherwise each time: only that it does is expected then.
    """
    if expected is None:
        return "the sender sent another form this time"
    if expected.outcome is not played.outcome:
        return f"{expected.outcome} was expected, and it was {played.outcome}"
    if expected.outcome is Outcome.CHANGED:
        return ""
    if (expected.told is None) != (played.told is None):
        return "it was told once, and once it was not"
    if expected.told is not None:
        before, after = (without_values(case, each) for each in (expected.told, played.told))
        found = compare_messages(before, after, exact=True)
        if found.outcome is not Outcome.SAME:
            return f"it was told otherwise: {found.detail}"
    if expected.after != played.after:
        return "it was sent again in another form"
    return ""


def without_values(case: Case, told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give what a case is about of a message, of what it did not ask for no values: these may vary."""
    kept = case.about_it(told)
    for section in SECTIONS:
        asked = dict(fields(case.message.get(section)))
        if section in kept:
            kept[section] = {name: value if name in asked else "…" for name, value in fields(kept[section])}
    return kept
