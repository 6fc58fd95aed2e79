"""One function for a family of rules of 1.0: each rule has one check, and each performative its use."""

from __future__ import annotations

import pytest

from harness.amqp1_0.client.tests.test_container import container
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.performatives import Flow, Open
from harness.amqp1_0.wire.serial import Serial
from scenarios.amqp1_0.grammar.uses import EXAMPLES, USES, Ground, as_usual, of
from scenarios.amqp1_0.grammar.written import forms, is_written_otherwise, value_of
from scenarios.registry import checks
from spec.grammar.amqp1_0.members import Subject
from spec.grammar.amqp1_0.rules import derived
from spec.readers.amqp1_0 import grammar
from spec.rules import Role

ABOUT = {each.rule.id: each.about for each in derived()}


def subject(name: str) -> Subject:
    return ABOUT[f"1-0/grammar/{name}"]


def test_every_rule_has_one_check() -> None:
    assert {len(checks().of(each.rule.id, Role.SERVER)) for each in derived()} == {1}
    assert {len(checks().of(each.rule.id, Role.CLIENT)) for each in derived()} == {1}
    assert [each.rule.id for each in derived() if not checks().deviations_of(each.rule.id)] == []


def test_every_composite_has_its_use() -> None:
    judged = {each.name for each in grammar().composites if each.origin.judged}
    assert USES.keys() == judged
    # Nobody reads anything in place of what is wrong in what ends something.
    assert EXAMPLES.keys() == judged - {"end", "close"}


@pytest.mark.parametrize("name", USES)
def test_a_performative_does_what_it_is_for(name: str) -> None:
    with container() as (box, _):
        box.address = lambda: "q"  # type: ignore[method-assign]
        ground = Ground(box)
        for _ in range(2):
            USES[name](ground).does(as_usual)


@pytest.mark.parametrize(
    ("name", "usual", "codes"),
    [
        ("flow.handle.encoded", Flow(0, 0, 0, 0, 0), [0x70, 0x52, 0x43]),
        ("flow.next-outgoing-id.encoded", Flow(0, 0, Serial(1), 0), [0x70, 0x52]),
        ("flow.next-incoming-id.encoded", Flow(Serial(2**32 - 4), 0, 0, 0), [0x70]),
        ("flow.drain.encoded", Flow(0, 0, 0, 0), [0x56, 0x42]),
        ("open.desired-capabilities.encoded", Open("x"), [0xA3, 0xB3, 0xE0, 0xF0]),
        ("open.properties.encoded", Open("x"), [0xC1, 0xD1]),
    ],
)
def test_a_field_is_written_in_each_encoding_that_can_hold_it(
    name: str, usual: Open | Flow, codes: list[int]
) -> None:
    about = subject(name)
    value = value_of(about, usual)
    assert [encode(form(value))[0] for form in forms(about, value)] == codes


def test_a_rule_about_one_form_knows_the_others() -> None:
    meets = is_written_otherwise(subject("flow.drain.encoded"))
    shortest = Flow(0, 0, 0, 0, drain=True)
    assert not meets(Frame(AMQP, 0, shortest.encode()))
    assert meets(Frame(AMQP, 0, shortest.sent_as(width=11).encode()))
    assert not meets(Frame(AMQP, 0, Open("x").sent_as(width=10).encode()))


def test_of_gives_each_rule_what_it_is_about() -> None:
    assert dict(of("choice")) == {name: about for name, about in ABOUT.items() if name.endswith(".choice")}
