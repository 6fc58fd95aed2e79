from dataclasses import fields
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.evidence.kinds import (
    ENVELOPE,
    KINDS,
    CappedOctets,
    EvidenceError,
    Line,
    TestStarted,
    decode,
    encode,
)
from conformance.evidence.verdicts import Verdict
from conformance.render.tests.samples import judged
from harness.wire.journal import Direction, Octets

CLASSES = [*KINDS.values(), CappedOctets]
PLAIN = st.dictionaries(
    st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)
)

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
# A peer's text may come out of surrogateescape: lone surrogates must survive as well.
st.register_type_strategy(str, st.text(st.characters(codec=None, categories=None)))


def any_event(cls: type[Any]) -> st.SearchStrategy[Any]:
    plain = {
        "banner": PLAIN,
        "environment": PLAIN,
        "documents": st.lists(PLAIN, max_size=2).map(tuple),
        "unexpected": st.lists(PLAIN, max_size=2).map(tuple),
        "flaky": st.lists(PLAIN, max_size=2).map(tuple),
        "scores": st.lists(PLAIN, max_size=2).map(tuple),
        "verdicts": st.dictionaries(st.text(), st.integers()),
        "unspoken": st.dictionaries(st.text(), st.text()),
        "values": st.dictionaries(st.text(), st.text()),
        # Of a mapping Hypothesis makes any that some module has brought with it.
        "occasions": st.dictionaries(st.text(), st.integers()),
        "violations": st.dictionaries(st.text(), st.lists(st.text()).map(tuple)),
    }
    return st.builds(
        cls,
        **{
            each.name: plain.get(each.name, st.from_type(get_type_hints(cls)[each.name]))
            for each in fields(cls)
        },
    )


@settings(deadline=None, derandomize=True)
@given(st.sampled_from(CLASSES).flatmap(any_event), st.floats(0, 1e6), st.integers(1), st.none() | st.text())
def test_every_event_comes_back_as_it_was_written(
    event: Any, wall: float, seq: int, test: str | None
) -> None:
    line = Line(wall, "gw0", seq, getattr(event, "test", test), event)
    text = encode(line)
    assert decode(text) == line
    assert type(decode(text).event) is type(event)
    assert text.isascii()
    assert text.count(b"\n") == 1
    assert text.endswith(b"\n")


@pytest.mark.parametrize("cls", CLASSES)
def test_no_field_collides_with_the_envelope(cls: type[Any]) -> None:
    assert {each.name for each in fields(cls)} & set(ENVELOPE) <= {"test"}


def test_octets_are_lower_case_hex() -> None:
    octets = Octets(1.5, "c1", Direction.SENT, b"\xce\x00", "x")
    assert encode(Line(0, "main", 1, None, octets)) == (
        b'{"event":"octets","wall":0,"worker":"main","seq":1,"test":null,'
        b'"at":1.5,"connection":"c1","direction":"sent","octets":"ce00","says":"x"}\n'
    )


def test_an_event_that_names_its_test_is_about_that_one() -> None:
    line = Line(0.0, "main", 1, "outer", TestStarted("inner", "r"))
    assert decode(encode(line)).test == "inner"


GOOD = encode(Line(0.5, "main", 1, None, judged(Verdict.PASS)))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"event":"invented"}', "unknown kind of event 'invented'"),
        (b'{"event":["octets"]}', "unknown kind"),
        (GOOD.replace(b'"verdict":"pass"', b'"verdict":"fine"'), "'fine' is not a valid Verdict"),
        (GOOD.replace(b'"verdict":"pass",', b""), "verdict"),
        (GOOD.replace(b'"expected":[]', b'"expected":[1]'), "1 is not str"),
        (GOOD.replace(b'"duration":0.0', b'"duration":"0"'), "'0' is not a number"),
        (GOOD.replace(b'"wall":0.5', b'"wall":true'), "True is not a number"),
        (GOOD.replace(b'"cause":""', b'"cause":"","more":1'), "superfluous: more"),
        (GOOD.replace(b'"worker":"main",', b""), "worker"),
    ],
)
def test_a_line_that_is_none_says_what_is_wrong(text: bytes, wrong: str) -> None:
    with pytest.raises(EvidenceError, match=wrong.replace("(", r"\(").replace("[", r"\[")):
        decode(text)
