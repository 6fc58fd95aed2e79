"""The connection state machine, transition by transition, against the figures written down once more."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer.events import ConnectionState
from harness.amqp1_0.peer.states import ARROWS, LEGAL, Legal
from harness.amqp1_0.peer.tests.dialogue import EMPTY, HEADER, Client, peer
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, Frame, amqp_frame, empty_frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, Error, Open
from harness.wire.units import Header

OTHER = Header(b"AMQP\x00\x01\x01\x00")

FIGURE_2_24 = """
START       HDR   HDR
HDR_RCVD    HDR   OPEN
HDR_SENT    OPEN  HDR
HDR_EXCH    OPEN  OPEN
OPEN_RCVD   OPEN  any
OPEN_SENT   known OPEN
OPEN_PIPE   known HDR
CLOSE_PIPE  none  OPEN  TCP Close for Write
OC_PIPE     none  HDR   TCP Close for Write
OPENED      any   any
CLOSE_RCVD  any   none  TCP Close for Read
CLOSE_SENT  none  any   TCP Close for Write
DISCARDING  none  any   TCP Close for Write
END         none  none  TCP Close
"""

FIGURE_2_23 = """
START R:HDR HDR_RCVD      START S:HDR HDR_SENT
HDR_RCVD S:HDR HDR_EXCH   HDR_RCVD S:HDR! END
HDR_SENT R:HDR HDR_EXCH   HDR_SENT R:HDR! END   HDR_SENT S:OPEN OPEN_PIPE
HDR_EXCH R:OPEN OPEN_RCVD HDR_EXCH S:OPEN OPEN_SENT
OPEN_PIPE R:HDR OPEN_SENT OPEN_PIPE R:HDR! END  OPEN_PIPE S:CLOSE OC_PIPE
OPEN_RCVD S:OPEN OPENED   OPEN_SENT R:OPEN OPENED  OPEN_SENT S:CLOSE CLOSE_PIPE
OC_PIPE R:HDR CLOSE_PIPE  OC_PIPE R:HDR! END    CLOSE_PIPE R:OPEN CLOSE_SENT
OPENED R:CLOSE CLOSE_RCVD OPENED S:CLOSE CLOSE_SENT
CLOSE_RCVD S:CLOSE END    CLOSE_SENT R:CLOSE END   DISCARDING R:CLOSE END
"""


def test_the_tables_are_the_figures() -> None:
    legal = {}
    for line in FIGURE_2_24.strip().splitlines():
        state, sends, receives, *action = line.split(maxsplit=3)
        legal[ConnectionState[state]] = Legal(sends, receives, *action)  # type: ignore[arg-type]
    assert legal == LEGAL
    words = FIGURE_2_23.split()
    arrows = set(zip(words[::3], words[1::3], words[2::3], strict=True))
    assert arrows == {(each.at.name, each.trigger, each.to.name) for each in ARROWS}
    assert len(arrows) == len(ARROWS)


def at(state: ConnectionState, **choices: Any) -> Client:
    """A client whose peer is in a state, without having gone there."""
    client = Client(peer(**choices), opened=False)
    client.listen()
    client.peer.state = state
    client.peer.header = PROTOCOL_HEADER
    return client


RECEIVED = {
    "R:HDR": HEADER.octets,
    "R:HDR!": OTHER.octets,
    "R:OPEN": amqp_frame(0, Open("me")).encode(),
    "R:CLOSE": amqp_frame(0, Close()).encode(),
}
SENT: dict[str, Any] = {"S:HDR": HEADER, "S:HDR!": OTHER, "S:OPEN": Open("me"), "S:CLOSE": Close()}
ON = {"HDR_RCVD": "HDR_EXCH", "OPEN_RCVD": "OPENED", "CLOSE_RCVD": "END"}
"""What the peer makes at once of states in which only it has something to say."""


@pytest.mark.parametrize("arrow", ARROWS, ids=lambda each: f"{each.at.name} {each.trigger}")
def test_every_arrow_leads_where_it_points(arrow: Any) -> None:
    client = at(arrow.at)
    if arrow.trigger in SENT:
        client.peer.say(SENT[arrow.trigger])
        assert len(client.frames()) == 1 + (arrow.to is ConnectionState.OPEN_RCVD)
        assert client.peer.state is arrow.to
    else:
        client.peer.receive(RECEIVED[arrow.trigger])
        assert client.peer.state.name == ON.get(arrow.to.name, arrow.to.name)
    assert (client.peer.closed == "fin") is (client.peer.state is ConnectionState.END)


@pytest.mark.parametrize("state", list(ConnectionState), ids=lambda each: each.name)
def test_nothing_is_sent_that_the_figure_does_not_permit(state: ConnectionState) -> None:
    kinds: dict[str, set[Any]] = {
        "HDR": {Header},
        "OPEN": {Open},
        "any": {Close, Begin, Frame},
        "known": {Close, Begin, Frame},
        "none": set(),
    }
    permitted = kinds[LEGAL[state].sends]
    for said in (HEADER, Open("me"), Close(), Close(Error(AmqpError.NOT_FOUND)), Begin(), empty_frame()):
        client = at(state)
        client.peer.say(said)
        assert bool(client.listen()) is (type(said) in permitted), said


@pytest.mark.parametrize("state", ["CLOSE_SENT", "DISCARDING", "CLOSE_PIPE", "END"])
def test_behind_our_close_nothing_is_said_whatever_comes(state: str) -> None:
    client = at(ConnectionState[state])
    client.send(Begin(None, 0, 1, 1), EMPTY, b"\x00\x00\x00\x09\x02\x00\x00\x00\x40", amqp_frame(7, Begin()))
    assert client.listen() == []
    assert client.wait(1.0) == []


def path(client: Client) -> str:
    return client.peer.state.name


def test_the_states_are_passed_as_the_policy_has_it() -> None:
    client = Client(peer(), opened=False)
    assert path(client) == "START"
    client.send(HEADER)
    assert path(client) == "HDR_EXCH"
    client.send(Open("me"))
    assert path(client) == "OPENED"
    client.send(Close())
    assert path(client) == "END"


def test_an_open_may_come_first() -> None:
    client = Client(peer(open="first"), opened=False)
    client.send(HEADER)
    assert [type(each) for each in client.listen()] == [Header, Open]
    assert path(client) == "OPEN_SENT"
    client.send(Open("me"))
    assert path(client) == "OPENED"
    assert client.listen() == []


def test_everything_may_be_pipelined() -> None:
    client = Client(peer(header="at once", layers="bare", open="first"), opened=False)
    assert [type(each) for each in client.listen()] == [Header, Open]
    assert path(client) == "OPEN_PIPE"
    client.server.restart()
    assert path(client) == "END"
    assert isinstance(client.hear(), Close)
    client = Client(peer(header="at once", layers="bare", open="first"), opened=False)
    client.listen()
    assert isinstance(client.wait(10.0)[0], Close)
    assert path(client) == "OC_PIPE"
    client.send(HEADER)
    assert path(client) == "CLOSE_PIPE"
    client.send(Open("me"))
    assert path(client) == "CLOSE_SENT"
    client.send(Close())
    assert path(client) == "END"
    assert client.listen() == []


def test_a_header_may_come_at_once() -> None:
    client = Client(peer(header="at once", layers="bare"), opened=False)
    assert client.hear() == HEADER
    assert path(client) == "HDR_SENT"
    client.send(HEADER, Open("me"))
    assert path(client) == "OPENED"
    client = Client(peer(header="at once", layers="bare"), opened=False)
    client.send(OTHER, Open("me"))
    assert client.listen() == [HEADER]
    assert client.peer.closed == "fin"
