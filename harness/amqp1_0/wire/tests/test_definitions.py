"""Frames held against the definition that their descriptor names: each way to depart from it, once."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.wire.definitions import departures, departures_of_error, is_error, named_by
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, SASL, Frame, amqp_frame, empty_frame
from harness.amqp1_0.wire.performatives import Accepted, AmqpError, Close, Error, Open
from harness.amqp1_0.wire.types import As, Described, Map, Symbol, Ulong

BY_NUMBER = Ulong(Open.spec.code)
BY_SYMBOL = Symbol(Open.spec.descriptor)
CUT_SHORT = amqp_frame(0, Open("faulty")).encode()[8:-1]


def framed(value: Any) -> Frame:
    return Frame(AMQP, 0, encode(value))


@pytest.mark.parametrize(
    "frame",
    [
        amqp_frame(0, Open("good")),
        amqp_frame(7, Open("good").sent_as(descriptor=BY_SYMBOL)),
        framed(Described(BY_NUMBER, Map())),
        Frame(AMQP, 0, CUT_SHORT),
    ],
)
def test_the_descriptor_says_what_a_frame_is_whatever_follows(frame: Frame) -> None:
    assert named_by(frame) is Open


@pytest.mark.parametrize(
    "frame",
    [
        empty_frame(),
        Frame(AMQP, 0, b"\0"),
        Frame(AMQP, 0, encode("no descriptor")),
        Frame(SASL, 0, encode(Open("in another layer"))),
        framed(Described(Symbol("conformance:unheard-of"), ())),
    ],
)
def test_other_frames_are_nothing(frame: Frame) -> None:
    assert named_by(frame) is None


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (amqp_frame(0, Open("good", properties={"product": "a"})), ""),
        (amqp_frame(0, Open("good", properties=Map([("product", "a")]))), ""),
        (amqp_frame(0, Close(Error(None))), ""),
        (framed(Close().replace(error=Described(Ulong(Error.spec.code), Map()))), ""),
        (amqp_frame(0, Open()), "container-id is mandatory"),
        (amqp_frame(0, Open(As(0xA3, "a"))), "container-id is a symbol"),
        (amqp_frame(0, Open("a", properties=As(0xA1, "a"))), "properties is a string"),
        (amqp_frame(0, Open("a").sent_as(unknown=(1,))), "1 fields too many"),
        (amqp_frame(0, Close().replace(error=Accepted())), "error is an accepted"),
        (framed(Described(BY_NUMBER, Map())), "a map stands where the list of open must"),
        (Frame(AMQP, 0, CUT_SHORT), "at octet"),
        (empty_frame(), ""),
    ],
)
def test_departures_are_told_but_for_keys_and_what_is_inside_an_error(frame: Frame, told: str) -> None:
    found = departures(frame)
    assert bool(found) == bool(told)
    assert told in "; ".join(found)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Error(AmqpError.NOT_FOUND, "why", {"where": "here"}), ""),
        (Error(AmqpError.NOT_FOUND, info=Map([("where", "here")])), ""),
        (Error(), "condition is mandatory"),
        (Error(AmqpError.NOT_FOUND).sent_as(unknown=(1,)), "1 fields too many"),
        (Described(Ulong(Error.spec.code), Map()), "no list"),
    ],
)
def test_errors_are_held_against_theirs(error: Any, told: str) -> None:
    assert is_error(error)
    found = departures_of_error(error)
    assert bool(found) == bool(told)
    assert told in "; ".join(found)


def test_nothing_else_is_an_error() -> None:
    assert not any(map(is_error, (None, "why", Accepted(), Described(Symbol("a"), ()))))
