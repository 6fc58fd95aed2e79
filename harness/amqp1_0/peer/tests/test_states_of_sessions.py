"""The states of sessions and links, arrow by arrow, against figures and sentences written down once more."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer import fragmentation, states_of_links, states_of_sessions
from harness.amqp1_0.peer.entities import Link, Session
from harness.amqp1_0.peer.events import LinkState, SessionState
from harness.amqp1_0.peer.fragmentation import Received, receiving, sending
from harness.amqp1_0.peer.tests.dialogue import Client, peer
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Detach,
    End,
    Error,
    Flow,
    Role,
    Source,
    Target,
)

FIGURE_2_30 = """
UNMAPPED S:BEGIN BEGIN_SENT    UNMAPPED R:BEGIN BEGIN_RCVD
BEGIN_SENT R:BEGIN MAPPED      BEGIN_RCVD S:BEGIN MAPPED
MAPPED S:END(error) DISCARDING MAPPED S:END END_SENT          MAPPED R:END END_RCVD
DISCARDING R:END UNMAPPED      END_SENT R:END UNMAPPED        END_RCVD S:END UNMAPPED
"""
SECTION_2_5_5 = {
    "UNMAPPED": "neither",
    "BEGIN_SENT": "send",
    "BEGIN_RCVD": "receive",
    "MAPPED": "send and receive",
    "END_SENT": "receive",
    "END_RCVD": "send",
    "DISCARDING": "receive",
}
HALF_ATTACHED = """
DETACHED R:ATTACH ATTACH_RCVD      ATTACH_RCVD S:ATTACH ATTACHED
DETACHED S:ATTACH ATTACH_SENT      ATTACH_SENT R:ATTACH ATTACHED
ATTACHED R:DETACH DETACH_RCVD      ATTACHED S:DETACH DETACH_SENT
DETACH_RCVD S:DETACH SUSPENDED     DETACH_SENT R:DETACH SUSPENDED
DETACH_RCVD S:DETACH(closed) DETACHED    DETACH_SENT S:ATTACH ATTACHED
ATTACHED S:DETACH(error) ERRED     ATTACH_SENT S:DETACH(error) ERRED     ERRED R:DETACH DETACHED
SUSPENDED R:ATTACH ATTACH_RCVD     SUSPENDED S:ATTACH ATTACH_SENT
"""
FIGURES_2_57_AND_58 = {
    "OUTGOING": """
    NOT_SENT M=1,A=0 SENDING  NOT_SENT M=0,A=0 SENT  SENDING M=1,A=0 SENDING
    SENDING M=0,A=0 SENT      SENDING M=0,A=1 ABORTED
    """,
    "INCOMING": """
    NOT_RCVD M=1,A=0 RECEIVING  NOT_RCVD M=0,A=0 RECEIVED  RECEIVING M=1,A=0 RECEIVING
    RECEIVING M=0,A=0 RECEIVED  RECEIVING M=0,A=1 ABORTED
    """,
}
OURS = Error(AmqpError.INTERNAL_ERROR, "ours")
SAID: dict[str, Any] = {
    "S:BEGIN": Begin(0, 0, 1, 1),
    "S:END": End(),
    "S:END(error)": End(OURS),
    "S:ATTACH": Attach("l", 0, Role.SENDER),
    "S:DETACH": Detach(0),
    "S:DETACH(closed)": Detach(0, True),
    "S:DETACH(error)": Detach(0, True, OURS),
}
RECEIVED: dict[str, Any] = {
    "R:BEGIN": Begin(None, 0, 1, 1),
    "R:END": End(),
    "R:ATTACH": Attach("l", 0, Role.RECEIVER, None, None, Source("q"), Target("me")),
    "R:DETACH": Detach(0),
}
ON = {"BEGIN_RCVD": "MAPPED", "END_RCVD": "UNMAPPED", "ATTACH_RCVD": "ATTACHED", "DETACH_RCVD": "SUSPENDED"}
"""What the peer makes at once of states in which only it has something to say."""


def triples(drawn: str) -> set[tuple[str, ...]]:
    words = drawn.split()
    return set(zip(words[::3], words[1::3], words[2::3], strict=True))


def told(arrows: Any) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = {(each.at.name, each.trigger, each.to.name) for each in arrows}
    assert len(found) == len(arrows)
    return found


def test_the_tables_are_the_figures() -> None:
    assert told(states_of_sessions.ARROWS) == triples(FIGURE_2_30)
    assert told(states_of_links.ARROWS) == triples(HALF_ATTACHED)
    legal = {
        state.name: " and ".join(word for word, may in zip(("send", "receive"), each, strict=True) if may)
        for state, each in states_of_sessions.LEGAL.items()
    }
    assert legal == {state: words.replace("neither", "") for state, words in SECTION_2_5_5.items()}
    for name, drawn in FIGURES_2_57_AND_58.items():
        arrows = getattr(fragmentation, name)
        found = {(each.at.name, f"M={each.more:d},A={each.aborted:d}", each.to.name) for each in arrows}
        assert found == triples(drawn)


def test_every_state_of_a_link_is_left_again() -> None:
    left = {each.at for each in states_of_links.ARROWS}
    assert left == {each.to for each in states_of_links.ARROWS} == set(LinkState)


# -- sessions ------------------------------------------------------------------------------------------


def at(state: SessionState) -> tuple[Client, Session]:
    """A client with a session in a state, without having gone there."""
    client = Client(peer())
    session = Session(client.peer, 0, state=state)
    if state is not SessionState.UNMAPPED:
        client.peer.sessions[0] = session
    return client, session


@pytest.mark.parametrize(
    "arrow", states_of_sessions.ARROWS, ids=lambda each: f"{each.at.name} {each.trigger}"
)
def test_every_arrow_of_a_session_leads_where_it_points(arrow: Any) -> None:
    client, session = at(arrow.at)
    if arrow.trigger in SAID:
        client.peer.say_on(session, SAID[arrow.trigger])
        assert client.hear() == SAID[arrow.trigger]
    else:
        client.send(RECEIVED[arrow.trigger])
        session = client.peer.sessions.get(0, session)
        answer = {"BEGIN_RCVD": Begin, "END_RCVD": End}.get(arrow.to.name)
        assert [type(each) for each in client.listen()] == ([answer] if answer else [])
    assert session.state.name == ON.get(arrow.to.name, arrow.to.name)
    if session.state is SessionState.UNMAPPED:
        assert client.peer.sessions == {}


@pytest.mark.parametrize("state", list(SessionState), ids=lambda each: each.name)
def test_nothing_is_said_on_a_session_that_its_state_does_not_permit(state: SessionState) -> None:
    permitted = {each.trigger for each in states_of_sessions.ARROWS if each.at is state}
    for trigger in ("S:BEGIN", "S:END", "S:END(error)"):
        client, session = at(state)
        client.peer.say_on(session, SAID[trigger])
        assert bool(client.listen()) is (not permitted.isdisjoint({trigger, trigger.removesuffix("(error)")}))
    for said in (Flow(0, 1, 0, 1), SAID["S:ATTACH"]):
        client, session = at(state)
        client.peer.say_on(session, said)
        assert bool(client.listen()) is ("send" in SECTION_2_5_5[state.name])


@pytest.mark.parametrize("state", ["END_SENT", "DISCARDING"])
def test_behind_our_end_nothing_is_said_whatever_comes(state: str) -> None:
    client, _ = at(SessionState[state])
    client.send(Flow(0, 1, 0, 1, echo=True), RECEIVED["R:ATTACH"], Detach(0))
    assert client.listen() == []
    client.send(End())
    assert client.listen() == []
    assert isinstance(client.begin(), Begin)


# -- links ---------------------------------------------------------------------------------------------


def with_link(state: LinkState) -> tuple[Client, Link]:
    """A client with a link in a state, without having gone there."""
    client = Client(peer())
    client.begin()
    session = client.peer.sessions[0]
    link = Link(session, 0, 0, state=state)
    if state not in (LinkState.DETACHED, LinkState.SUSPENDED):
        session.links[0] = link
    return client, link


@pytest.mark.parametrize("arrow", states_of_links.ARROWS, ids=lambda each: f"{each.at.name} {each.trigger}")
def test_every_arrow_of_a_link_leads_where_it_points(arrow: Any) -> None:
    client, link = with_link(arrow.at)
    if arrow.trigger in SAID:
        client.peer.say_on(link.session, SAID[arrow.trigger], link)
        assert client.hear() == SAID[arrow.trigger]
    else:
        link.session.links[0] = link  # what is suspended has no handle: another endpoint would take its place
        client.send(RECEIVED[arrow.trigger])
        answer = {"ATTACH_RCVD": Attach, "DETACH_RCVD": Detach}.get(arrow.to.name)
        assert [type(each) for each in client.listen()] == ([answer] if answer else [])
    assert link.state.name == ON.get(arrow.to.name, arrow.to.name)


@pytest.mark.parametrize("state", list(LinkState), ids=lambda each: each.name)
def test_nothing_is_said_of_a_link_that_its_state_does_not_permit(state: LinkState) -> None:
    permitted = {each.trigger for each in states_of_links.ARROWS if each.at is state}
    for trigger in ("S:ATTACH", "S:DETACH", "S:DETACH(closed)", "S:DETACH(error)"):
        client, link = with_link(state)
        client.peer.say_on(link.session, SAID[trigger], link)
        # An arrow for one of these is one for those that say more as well.
        wider = {trigger, "S:DETACH" if "DETACH" in trigger else trigger}
        if trigger == "S:DETACH(error)":
            wider.add("S:DETACH(closed)")
        assert bool(client.listen()) is not permitted.isdisjoint(wider), (state, trigger)


# -- messages in several transfers ---------------------------------------------------------------------


def test_a_message_goes_out_on_arrows_of_its_figure() -> None:
    assert [[each.more for each in sending(count)] for count in (1, 2, 3)] == [
        [False],
        [True, False],
        [True, True, False],
    ]


@pytest.mark.parametrize(
    ("begun", "more", "aborted", "to"),
    [
        (False, True, False, "RECEIVING"),
        (False, False, False, "RECEIVED"),
        (True, True, False, "RECEIVING"),
        (True, False, False, "RECEIVED"),
        (True, False, True, "ABORTED"),
        (True, True, True, "ABORTED"),
        (False, False, True, "ABORTED"),
    ],
)
def test_a_transfer_leads_where_its_figure_says(begun: bool, more: bool, aborted: bool, to: str) -> None:
    assert receiving(begun, more, aborted) is Received[to]
