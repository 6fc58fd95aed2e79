"""Legs made of what lanes saw: each is compared with what went into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.interop.cases import Case
from conformance.interop.comparing import compare_messages, described
from conformance.interop.outcomes import RANK, Finding, Form, Leg, Octets, Outcome, Stage
from conformance.interop.play.protocol import Wire
from conformance.interop.play.seen import Failed, Got, Sent

TOLD = ("token", "exchange", "key", "text")
"""What a shim tells of a message that is not of the message, or differs from one time to the next."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Makes the legs of one broker; `blank` says of which."""

    wire: Wire
    blank: Leg

    def of(self, case: Case, leg: Stage, **what: Any) -> Leg:
        return replace(self.blank, case=case.name, leg=leg, **what)

    def sent(self, case: Case, client: str, version: str, seen: Sent | Failed) -> Leg:
        """Make the leg from what was asked of a client to what it put on the wire."""
        who = {"client": client, "client_version": version, "asked": case.message}
        if isinstance(seen, Failed):
            return self.of(case, Stage.SEND, **who, **failed(seen))
        asked = described(self.wire.asked(case.message))
        found = best([compare_messages(asked, each, case.exact) for each in self.read(seen.form)])
        return self.of(
            case,
            Stage.SEND,
            **who,
            **finding(found),
            form=self.key(case, seen.form),
            octets=Octets.of(seen.form.octets),
        )

    def passed(self, case: Case, form: Form, after: Form | Failed) -> Leg:
        """Make the leg through the broker."""
        before: dict[str, Any] = {"form": self.key(case, form), "octets": Octets.of(form.octets)}
        if isinstance(after, Failed):
            return self.of(case, Stage.BROKER, **before, **failed(after))
        found = self.between(case, form, after)
        return self.of(
            case,
            Stage.BROKER,
            **before,
            **finding(found),
            after=self.key(case, after),
            octets_after=changed(form, after),
        )

    def got(self, case: Case, client: str, version: str, form: Form, seen: Got | Failed) -> Leg:
        """Make the leg from what the broker delivered to what the client tells, and sends again."""
        who: dict[str, Any] = {"client": client, "client_version": version, "form": self.key(case, form)}
        if isinstance(seen, Failed):
            return self.of(case, Stage.RECEIVE, **who, octets=Octets.of(form.octets), **failed(seen))
        what, delivered = told(seen.told), seen.delivered
        who |= {"told": what, "octets": Octets.of(delivered.form.octets)}
        meant = {**self.meant(case, delivered.form), **again(delivered.again)}
        found = compare_messages(meant, case.about_it(what), case.exact, loose=True)
        found = Finding(found.outcome, f"told: {found.detail}" if found.detail else "")
        if isinstance(seen.echo, Failed):
            found = found.joined(Finding(seen.echo.outcome, f"echo: {seen.echo.detail}"))
            return self.of(
                case, Stage.RECEIVE, **who, **finding(found), kind=seen.echo.kind, native=seen.echo.native
            )
        sent = self.between(case, delivered.form, seen.echo)
        found = found.joined(Finding(sent.outcome, f"echo: {sent.detail}" if sent.detail else ""))
        return self.of(
            case,
            Stage.RECEIVE,
            **who,
            **finding(found),
            after=self.key(case, seen.echo),
            octets_after=changed(delivered.form, seen.echo),
        )

    def between(self, case: Case, before: Form, after: Form) -> Finding:
        """Compare two forms: by their octets, and where these differ by what they mean."""
        if before.octets == after.octets:
            return Finding()
        meant = self.meant(case, before)
        found = best([compare_messages(meant, case.about_it(each), case.exact) for each in self.read(after)])
        return found.joined(Finding(detail="" if found.detail else "other octets"))

    def key(self, case: Case, form: Form) -> str:
        """Name a form of a case."""
        return self.wire.key(form, case.message, case.exact)

    def meant(self, case: Case, form: Form) -> Mapping[str, Any]:
        """Read a form as it was meant: of several readings the one nearest to what the case asks."""
        asked = described(self.wire.asked(case.message))
        read = min(self.read(form), key=lambda each: RANK[compare_messages(asked, each, False).outcome])
        return case.about_it(read)

    def read(self, form: Form) -> Sequence[Mapping[str, Any]]:
        """Read a form in every way that makes sense; what makes none is told as nothing at all."""
        try:
            return self.wire.readings(form)
        except (ValueError, KeyError, TypeError) as failure:
            return [{"properties": {"unread": str(failure)}}]


def changed(before: Form, after: Form) -> Octets | None:
    """Give what came out, where it is not what went in."""
    return None if before.octets == after.octets else Octets.of(after.octets)


def best(findings: Sequence[Finding]) -> Finding:
    """Give the best of several readings: what can be read as it was meant is as it was meant."""
    return min(findings, key=lambda each: RANK[each.outcome])


def again(redelivered: bool | None) -> dict[str, Any]:
    return {} if redelivered is None else {"redelivered": redelivered}


def told(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in message.items() if name not in TOLD}


def finding(found: Finding) -> dict[str, Any]:
    return {"outcome": found.outcome, "detail": found.detail}


def failed(seen: Failed) -> dict[str, Any]:
    return {"outcome": seen.outcome, "detail": seen.detail, "kind": seen.kind, "native": seen.native}


def untried(meter: Meter, case: Case, client: str, version: str, form: Form, why: str) -> Leg:
    """Make the leg that could not be tried, as the broker has not passed the form on."""
    who = {"client": client, "client_version": version, "form": meter.key(case, form)}
    return meter.of(case, Stage.RECEIVE, **who, outcome=Outcome.UNTRIED, detail=why)
