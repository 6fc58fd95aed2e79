"""Clients at our own peer over TCP: legs say who changed a value, and what goes wrong costs one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.interop.cases import Case, cases
from conformance.interop.known import Known, is_known
from conformance.interop.matrix import Matrix
from conformance.interop.outcomes import Form, Leg, Outcome, Stage
from conformance.interop.play.brokers import checked, running
from conformance.interop.play.lane import Lane
from conformance.interop.play.measuring import Meter
from conformance.interop.play.protocol import wire
from conformance.interop.play.seen import Failed
from conformance.interop.play.session import Session, is_played
from conformance.interop.play.shims import Start, starter
from conformance.interop.tests import fakes
from harness.shims.contract import Shim
from harness.targets.target import TargetError

SMALL = ("field.i8.least", "property.priority", "body.one-octet")


class Silent:
    """Follows nothing; implements conformance.interop.play.session.Follower."""

    def expect(self, total: int) -> None:
        pass

    def move(self, outcome: str, what: str) -> None:
        pass


def played(
    chosen: Sequence[Case],
    monkeypatch: pytest.MonkeyPatch | None = None,
    known: Sequence[Known] = (),
    /,
    **clients: Start,
) -> Matrix:
    """Play the cases with these clients at our own peer."""
    if monkeypatch:
        monkeypatch.setattr("conformance.interop.play.lane.PATIENCE", 0.2)
    protocol = wire("0-9-1")
    with ExitStack() as stack:
        here = stack.enter_context(running(checked("embedded", "0-9-1"), protocol))
        lanes = {
            name: stack.enter_context(Lane(protocol, here.broker, start, here.address))
            for name, start in clients.items()
        }
        blank = Leg("0-9-1", "", "", here.name, here.version, "", Stage.SEND, Outcome.SAME)
        knows = partial(is_known, known)
        return Matrix(Session(Meter(protocol, blank), lanes, chosen, Silent(), knows).play())


def small(*globs: str) -> Sequence[Case]:
    return cases("0-9-1", globs or SMALL)


def at(matrix: Matrix, client: str, case: str) -> dict[Stage, set[Outcome]]:
    """Give what the legs of a client came to in a case, but for those that were played to prove others."""
    legs = matrix.cell(client, "embedded:tcp", case).legs
    return {stage: {leg.outcome for leg in legs if leg.leg is stage} for stage in list(Stage)[:3]}


def test_a_client_that_does_it_right_changes_nothing() -> None:
    matrix = played(small(), own=fakes.starts(fakes.right))
    assert {leg.outcome for leg in matrix.legs} == {Outcome.SAME}
    assert [leg.case for leg in matrix.legs if leg.leg is Stage.PLAYED] == list(SMALL)


def test_who_sends_another_type_is_told_by_the_leg_to_send() -> None:
    matrix = played(small("field.i8.least"), own=fakes.starts(fakes.right), other=fakes.starts(fakes.widens))
    assert at(matrix, "other", "field.i8.least")[Stage.SEND] == {Outcome.WIDENED}
    assert at(matrix, "own", "field.i8.least")[Stage.SEND] == {Outcome.SAME}
    assert len(matrix.of_broker("embedded:tcp", "field.i8.least")) == 2, (
        "each form goes through the broker once"
    )
    received = [leg for leg in matrix.legs if leg.leg is Stage.RECEIVE]
    assert len(received) == 4, "each client gets each form"
    pair = matrix.pair("other", "own", "embedded:tcp", "field.i8.least")
    assert pair.outcome is Outcome.WIDENED
    assert matrix.pair("own", "other", "embedded:tcp", "field.i8.least").outcome is Outcome.SAME


def test_who_forgets_what_came_is_told_by_the_leg_to_receive() -> None:
    matrix = played(small(), own=fakes.starts(fakes.right), other=fakes.starts(fakes.forgets))
    assert at(matrix, "other", "property.priority") == {
        Stage.SEND: {Outcome.SAME},
        Stage.BROKER: {Outcome.SAME},
        Stage.RECEIVE: {Outcome.CHANGED},
    }
    (leg, *_) = [each for each in matrix.legs if each.outcome is Outcome.CHANGED]
    assert leg.detail == "told: properties.priority is gone"
    assert matrix.pair("own", "other", "embedded:tcp", "property.priority").outcome is Outcome.CHANGED
    assert matrix.pair("other", "own", "embedded:tcp", "property.priority").outcome is Outcome.SAME


def test_what_a_library_lacks_is_no_failure() -> None:
    matrix = played(small(), own=fakes.starts(fakes.lacks))
    cell = matrix.cell("own", "embedded:tcp", "field.i8.least")
    assert cell.send
    assert cell.send.outcome is Outcome.UNSUPPORTED
    assert cell.receive, "our own end sends it, so that it can be got all the same"
    assert not any(leg.fails for leg in matrix.legs)


@pytest.mark.parametrize(
    ("change", "stage", "outcome", "says"),
    [
        (fakes.swallows, Stage.SEND, Outcome.LOST, "nothing was sent"),
        (fakes.dies, Stage.SEND, Outcome.CRASHED, "the shim ended amid send (status -11)"),
        (fakes.is_overtaken, Stage.BROKER, Outcome.CLOSED, "all over"),
        (fakes.falls_over, Stage.RECEIVE, Outcome.REFUSED, "a priority?"),
    ],
)
def test_what_goes_wrong_costs_its_case(
    monkeypatch: pytest.MonkeyPatch, change: fakes.Change, stage: Stage, outcome: Outcome, says: str
) -> None:
    matrix = played(small(), monkeypatch, other=fakes.starts(change))
    assert at(matrix, "other", "property.priority")[stage] == {outcome}
    assert {leg.detail for leg in matrix.legs if leg.outcome is outcome and leg.leg is stage} == {says}
    assert {leg.case for leg in matrix.legs if leg.fails} == {"property.priority"}


def test_what_a_broker_refuses_late_is_not_paid_for_by_the_next_case() -> None:
    matrix = played(small("body.one-octet", "body.binary"), other=fakes.starts(fakes.echoes_to_nobody))
    received = {leg.case: leg.outcome for leg in matrix.legs if leg.leg is Stage.RECEIVE}
    assert received == {"body.one-octet": Outcome.CHANGED, "body.binary": Outcome.SAME}


def test_a_form_that_a_broker_takes_of_one_client_alone_has_two_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients = {"one": fakes.starts(fakes.right), "other": fakes.starts(fakes.sends_to_nobody)}
    matrix = played(small("body.one-octet"), monkeypatch, (), **clients)
    legs = matrix.of_broker("embedded:tcp", "body.one-octet")
    assert sorted(leg.outcome for leg in legs) == [Outcome.CLOSED, Outcome.SAME]
    assert matrix.pair("one", "other", "embedded:tcp", "body.one-octet").outcome is Outcome.SAME
    assert matrix.pair("other", "one", "embedded:tcp", "body.one-octet").outcome is Outcome.CLOSED


def test_what_fails_by_time_and_was_not_known_is_measured_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = played(small("property.priority"), monkeypatch, other=fakes.starts(fakes.Late()))
    assert at(matrix, "other", "property.priority")[Stage.SEND] == {Outcome.SAME}
    known = [Known("other", "*", "*", "send", "lost", "it is late")]
    matrix = played(small("property.priority"), monkeypatch, known, other=fakes.starts(fakes.Late()))
    assert at(matrix, "other", "property.priority")[Stage.SEND] == {Outcome.LOST}


def test_a_large_message_has_the_time_that_it_takes() -> None:
    seen: list[float] = []

    def looks(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
        if "within" in arguments:
            seen.append(arguments["within"])
        return shim.do(command, **arguments)

    big = Case("big", "", {"body": {"fill": 2_000_000}})
    matrix = played([big, *small("body.one-octet")], other=fakes.starts(looks))
    assert {leg.outcome for leg in matrix.legs} == {Outcome.SAME}
    assert set(seen) == {Lane.within(big)}


def test_a_shim_that_ended_is_started_again() -> None:
    started: list[fakes.Changed] = []
    played(small(), other=fakes.starts(fakes.dies, started))
    assert len(started) == 3, "the case with which it ends is tried twice"


def test_who_cannot_connect_is_not_asked_for_ever() -> None:
    asked: list[str] = []

    def change(command: str, arguments: dict[str, Any], shim: object) -> dict[str, object]:
        asked.append(command)
        return dict(fakes.never_connects(command, arguments, shim))  # type: ignore[arg-type]

    matrix = played(small("body.*"), other=fakes.starts(change))
    assert {leg.outcome for leg in matrix.legs if leg.client} == {Outcome.REFUSED}
    assert asked.count("connect") == 3


def test_what_is_played_must_be_what_the_legs_let_expect() -> None:
    matrix = played(small("body.one-octet"), other=fakes.starts(fakes.Moody()))
    assert at(matrix, "other", "body.one-octet")[Stage.RECEIVE] == {Outcome.SAME}
    pair = matrix.pair("other", "other", "embedded:tcp", "body.one-octet")
    assert pair.outcome is Outcome.CONTRADICTED
    assert pair.played
    assert pair.played.fails
    assert matrix.cell("other", "embedded:tcp", "body.one-octet").outcome is Outcome.CONTRADICTED


def test_who_was_ended_while_another_sent_gets_it_all_the_same() -> None:
    matrix = played(small("property.priority"), own=fakes.starts(fakes.Ended()))
    assert [leg.outcome for leg in matrix.legs if leg.leg is Stage.PLAYED] == [Outcome.SAME]


def test_a_broker_that_refuses_a_form_is_told_by_its_leg() -> None:
    matrix = played(small("field.bin"), own=fakes.starts(fakes.right))
    long, other = matrix.of_broker("embedded:tcp", "field.bin")
    assert {long.outcome, other.outcome} == {Outcome.SAME, Outcome.CLOSED}
    received = [leg.outcome for leg in matrix.legs if leg.leg is Stage.RECEIVE]
    assert sorted(received) == [Outcome.SAME, Outcome.UNTRIED], "nobody can get what the broker does not take"


@pytest.mark.parametrize("name", ["body.10-MB", "redelivered", "acknowledged", "consumed*", "properties.*"])
def test_cases_that_are_told_otherwise(name: str) -> None:
    matrix = played(small(name), own=fakes.starts(fakes.right))
    assert {leg.outcome for leg in matrix.legs} == {Outcome.SAME}
    if name == "redelivered":
        told = [leg.told for leg in matrix.legs if leg.leg is Stage.RECEIVE]
        assert [each["redelivered"] for each in told] == [True]


def test_a_tenth_of_the_pairs_is_played_and_always_the_same() -> None:
    names = [f"client{number}" for number in range(12)]
    pairs = [(one, other) for one in names for other in names if one != other]
    chosen = [pair for pair in pairs if is_played(*pair, "broker", "case")]
    assert 0 < len(chosen) < len(pairs) / 4
    assert chosen == [pair for pair in pairs if is_played(*pair, "broker", "case")]
    assert all(is_played(name, name, "broker", "case") for name in names)


def test_who_cannot_be_a_broker_here_is_refused_beforehand() -> None:
    with pytest.raises(TargetError, match="is a client"):
        checked("client:own", "0-9-1")
    with pytest.raises(TargetError, match="reached by TLS"):
        checked("amqps://localhost", "0-9-1")


def test_1_0_goes_the_same_way() -> None:
    protocol = wire("1-0")
    chosen = cases("1-0", ["value.i32.least", "value.map", "sections.all", "settled.*", "body.data.100-kB"])
    with ExitStack() as stack:
        here = stack.enter_context(running(checked("embedded", "1-0"), protocol))
        start = starter(None, "1-0", Path("no-log"))
        lane = stack.enter_context(Lane(protocol, here.broker, start, here.address))
        blank = Leg("1-0", "", "", here.name, here.version, "", Stage.SEND, Outcome.SAME)
        legs = Session(Meter(protocol, blank), {"own": lane}, chosen, Silent()).play()
    assert {leg.outcome for leg in legs} == {Outcome.SAME}
    assert len({leg.case for leg in legs if leg.leg is Stage.PLAYED}) == len(chosen)


@pytest.mark.broker("garagemq")
def test_a_broker_that_was_started_again_costs_no_more_than_a_case() -> None:
    protocol, goal = wire("0-9-1"), checked("process:garagemq", "0-9-1")
    [case] = small("body.one-octet")
    with ExitStack() as stack:
        here = stack.enter_context(running(goal, protocol))
        lane = stack.enter_context(Lane(protocol, here.broker, fakes.starts(fakes.right), here.address))
        lane.prepare()
        goal.use("restart")  # the queues are gone with it
        came = []
        for _ in range(3):
            with suppress(Failed):
                came.append(lane.send(case).after)
    assert isinstance(came[-1], Form)
    assert isinstance(came[-2], Form)
    assert here.broker.ends == 0, "it runs, and nobody else may start it again"
