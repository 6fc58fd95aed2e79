"""The page of a run: every cell and pair is there, and nothing a peer said runs or is taken for markup."""

from __future__ import annotations

import re
from typing import Any

from conformance.interop.known import Known, against
from conformance.interop.matrix import Matrix
from conformance.interop.outcomes import Leg, Octets, Outcome, Stage
from conformance.interop.tell.page import page

HOSTILE = (
    "<script>alert(1)</script><img src=//example.test/x onerror=alert(1)>\" ' {{ 7*7 }} "
    "\u202e \x1b]8;; \ud800"
)


def leg(client: str, stage: Stage, outcome: Outcome = Outcome.SAME, **fields: Any) -> Leg:
    given = {
        "protocol": "0-9-1",
        "client_version": "1",
        "broker": "here",
        "broker_version": "3",
        "case": "a.b",
    }
    return Leg(client=client, leg=stage, outcome=outcome, **given | {"form": "f1"} | fields)


def a_run(said: str = "x became y") -> list[Leg]:
    return [
        leg("one", Stage.SEND),
        leg("two", Stage.SEND, Outcome.WIDENED, form="f2", detail=said, octets=Octets.of(b"ab")),
        leg("", Stage.BROKER),
        leg("", Stage.BROKER, form="f2"),
        leg("one", Stage.RECEIVE),
        leg("one", Stage.RECEIVE, form="f2"),
        leg("two", Stage.RECEIVE, Outcome.CHANGED, detail=said, kind="local", native=said),
        leg("two", Stage.RECEIVE, form="f2"),
        leg("two", Stage.PLAYED, Outcome.CONTRADICTED, form="f2", other="two", detail=said),
    ]


def shown(legs: list[Leg], *known: Known, broke: str = "") -> str:
    return page(Matrix(legs), against(legs, known), {"there": broke} if broke else {}, {"a.b": "4.2.1"})


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html.partition("</style>")[2]))


def test_cells_and_pairs_are_told() -> None:
    html = shown(a_run(), broke="it does not start")
    text = text_of(html)
    assert "2 clients, 1 brokers, 1 cases, 9 legs. 2 legs fail newly" in text
    assert "there could not be played: it does not start" in text
    assert "two to two, played" in text
    assert "x became y" in text
    assert "octets 6162" in text
    assert html.count("to one</th>") == html.count("to two</th>") == 1


def test_a_pair_follows_from_its_legs() -> None:
    matrix = Matrix(a_run())
    found = {(a, b): matrix.pair(a, b, "here", "a.b").outcome for a in ("one", "two") for b in ("one", "two")}
    assert found == {
        ("one", "one"): Outcome.SAME,
        ("one", "two"): Outcome.CHANGED,
        ("two", "one"): Outcome.WIDENED,
        ("two", "two"): Outcome.CONTRADICTED,
    }


def test_what_is_known_is_told_with_its_reason() -> None:
    why = "nobody minds"
    known = Known("two", "here", "a.*", "*", "*", why)
    gone = Known("one", "here", "a.*", "send", "lost", "it has been put right")
    text = text_of(shown(a_run(), known, gone))
    assert text.count(f"known: {why}") >= 2
    assert "it has been put right" in text


def test_nothing_that_a_peer_said_is_markup() -> None:
    legs = [
        Leg(
            **{name: getattr(each, name) for name in Leg.__slots__}
            | {"broker": HOSTILE, "client_version": HOSTILE}
        )
        for each in a_run(HOSTILE)
    ]
    html = shown(legs, broke=HOSTILE)
    body = html.partition("</style>")[2]
    assert not re.search(r"<(script|img|iframe)", body)
    assert not re.search(r"<[^>]*\son\w+=", body)
    assert "alert(1)" in body, "it is told"
    assert not re.search("[\u202e\x1b\ud800]", body)
    assert "https:" not in html
    assert "default-src 'none'" in html
