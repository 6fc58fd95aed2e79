"""The reference peer is strict about windows, links and credit (2.5.6, 2.6.1 to 2.6.7, 2.7.2 to 2.7.4)."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer.policy import Refusal
from harness.amqp1_0.peer.tests.dialogue import Client, peer
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Begin,
    ConnectionError_,
    Detach,
    Disposition,
    End,
    Flow,
    LinkError,
    ReceiverSettleMode,
    Role,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import Map

TOP = (1 << 32) - 2
SECOND = ReceiverSettleMode.SECOND


def session(server: Any = None, container: str = "", **fields: Any) -> Client:
    client = Client(server, container=container, **fields)
    assert isinstance(client.begin(), Begin)
    return client


def kinds(heard: list[Any]) -> list[type]:
    return [type(each) for each in heard]


def condition(heard: Any) -> str:
    assert heard.error is not None
    return str(heard.error.condition)


# -- windows -------------------------------------------------------------------------------------------


def test_a_flow_sets_what_is_expected_next() -> None:
    client = session()
    assert client.ask(Flow(0, 1, 7, 1, echo=True)).next_incoming_id == 7
    client.sender()
    client.transfer(b"m", 0, settled=True)
    assert client.ask(Flow(0, 1, TOP, 1, echo=True)).next_incoming_id == TOP


def test_the_clients_window_holds_up_the_pieces_of_a_message() -> None:
    client = Client(peer(initial_outgoing_id=TOP), max_frame_size=512)
    assert client.begin(incoming_window=2).next_outgoing_id == TOP
    client.sender()
    client.receiver(credit=0)
    client.transfer(bytes(2000), 0, settled=True)
    client.send(Flow(TOP, 2, 0, 1000, 1, 0, 10))
    sent = client.bodies()
    assert len(sent) == 2
    assert client.ask(Flow(0, 0, 0, 1000, echo=True)).next_outgoing_id == 0
    client.send(Flow(None, 3, 0, 1000))
    sent += client.bodies()
    assert len(sent) == 3
    client.send(Flow(1, 100, 0, 1000))
    assert sum(map(len, sent + client.bodies())) == 2000


def test_two_links_share_a_window_and_nothing_is_cut_short_by_a_detach() -> None:
    client = Client(max_frame_size=512)
    client.begin(incoming_window=1)
    client.sender()
    client.receiver(1, credit=0)
    client.transfer(bytes(1000), 0, settled=True)
    client.send(Flow(0, 1, 0, 1000, 1, 0, 1))
    assert len(client.bodies()) == 1
    assert client.ask(Detach(1, True)) == Detach(1, True)
    client.receiver(2, credit=0)
    client.send(Flow(1, 100, 0, 1000, 2, 0, 1))
    assert sum(map(len, client.bodies())) == 1000


def test_our_window_is_restated_and_not_to_be_exceeded() -> None:
    client = session(peer(incoming_window=4))
    client.sender()
    flows = []
    for number in range(4):
        client.transfer(b"m", number, settled=True)
        flows += client.listen()
    assert [(each.next_incoming_id, each.incoming_window, each.handle) for each in flows] == [
        (2, 4, None),
        (4, 4, None),
    ]
    client.peer.sessions[0].incoming_window = 0
    client.transfer(b"m", 4, settled=True)
    assert condition(client.hear()) == SessionError.WINDOW_VIOLATION


def test_the_outgoing_window_may_shrink_until_deliveries_are_settled() -> None:
    client = session(peer(outgoing_window="what is left"))
    client.sender()
    before = client.ask(Flow(0, 100, 0, 100, echo=True)).outgoing_window
    client.transfer(b"m", 0, settled=True)
    client.receiver()
    assert client.ask(Flow(1, 100, 1, 100, echo=True)).outgoing_window == before - 1
    client.send(Disposition(Role.RECEIVER, 0, 0, True, Accepted()))
    assert client.ask(Flow(1, 100, 1, 100, echo=True)).outgoing_window == before


def test_the_state_of_a_link_needs_a_handle() -> None:
    said = Flow(0, 1, 0, 1, None, 3)
    assert condition(session().ask(said)) == AmqpError.INVALID_FIELD
    assert session(peer(stray_link_state="ignore")).ask_all(said) == []


# -- names and handles ---------------------------------------------------------------------------------


def test_handles_stay_within_what_both_accept() -> None:
    for said in (
        Attach("x", 3, Role.RECEIVER, source=Source("q")),
        Detach(3),
        Transfer(3),
        Flow(0, 1, 0, 1, 3),
    ):
        assert session(peer(handle_max=2)).condition(said) == ConnectionError_.FRAMING_ERROR
    client = Client()
    client.begin(handle_max=0)
    client.receiver(4)
    assert condition(client.receiver(5)[0]) == AmqpError.RESOURCE_LIMIT_EXCEEDED


def test_a_handle_in_use_ends_the_session_or_the_connection() -> None:
    again = Attach("again", 0, Role.RECEIVER, source=Source("q"))
    client = session()
    client.sender()
    assert condition(client.ask(again)) == SessionError.HANDLE_IN_USE
    client = session(peer(handle_in_use=Refusal(SessionError.HANDLE_IN_USE)))
    client.sender()
    assert client.condition(again) == SessionError.HANDLE_IN_USE


@pytest.mark.parametrize("same_session", [True, False])
def test_a_link_that_is_attached_again_is_stolen(same_session: bool) -> None:
    first = session(container="me")
    first.receiver(1)
    again = Attach("r1", 9, Role.RECEIVER, source=Source("q"))
    if same_session:
        stolen, attach = first.ask_all(again)
    else:
        second = session(first.server, "me")
        attach, stolen = second.ask(again), first.hear()
    assert isinstance(attach, Attach)
    assert (stolen.handle, stolen.closed, condition(stolen)) == (0, True, LinkError.STOLEN)
    other = session(first.server, "another")
    assert kinds(other.receiver(1)) == [Attach]
    assert first.ask_all(Detach(1, True)) == []


def test_a_link_may_be_refused_while_it_is_attached_elsewhere() -> None:
    client = session(peer(second_attach="is refused"))
    client.receiver(1)
    attach, detach = client.ask_all(Attach("r1", 9, Role.RECEIVER, source=Source("q")))
    assert attach.source is None
    assert condition(detach) == AmqpError.RESOURCE_LOCKED
    assert kinds(client.sender(2)) == [Attach, Flow]


def test_an_attach_of_a_sender_needs_a_count_and_keys() -> None:
    client = session()
    client.send(Attach("x", 3, Role.SENDER))
    assert condition(client.hear()) == AmqpError.INVALID_FIELD
    client = session()
    client.send(Attach("x", 3, Role.RECEIVER, source=Source("q"), unsettled=Map([(None, None)])))
    assert condition(client.hear()) == AmqpError.INVALID_FIELD


# -- detaching, errors, resuming -----------------------------------------------------------------------


def unsettled() -> Client:
    """A client that has received one message on handle 1 and not settled it."""
    client = session()
    client.sender()
    client.transfer(b"m", 0, settled=True)
    client.send(Attach("r1", 1, Role.RECEIVER, source=Source("q")), Flow(0, 100, 1, 100, 1, None, 10))
    assert [each.delivery_id for each in client.listen() if isinstance(each, Transfer)] == [0]
    return client


def test_deliveries_live_on_when_a_link_is_detached_but_not_closed() -> None:
    client = unsettled()
    assert client.ask(Detach(1)) == Detach(1)
    assert kinds(client.receiver(2)) == [Attach]
    answer = client.ask(Disposition(Role.RECEIVER, 0, None, None, Accepted()))
    assert answer == Disposition(Role.SENDER, 0, None, True, Accepted())
    assert client.server.nodes.octets == 0


def test_a_link_is_reattached_with_its_deliveries_alive_and_resumed_with_them_compared() -> None:
    client = unsettled()
    client.send(Detach(1))
    client.listen()
    assert client.ask(Attach("r1", 1, Role.RECEIVER, source=Source("q"))).unsettled is None
    client.send(Detach(1))
    client.listen()
    answer, *_ = client.ask_all(Attach("r1", 1, Role.RECEIVER, source=Source("q"), unsettled={}))
    assert answer.unsettled == {bytes(4): None}
    client.send(Flow(1, 100, 1, 100, 1, None, 5))
    assert client.bodies() == [b"m"]
    assert kinds(client.ask_all(Disposition(Role.RECEIVER, 1, None, True, Accepted()), End())) == [End]
    assert client.server.nodes.octets == 0


def test_what_was_suspended_comes_back_with_the_end_of_the_session() -> None:
    client = unsettled()
    assert client.ask_all(Detach(1), End()) == [Detach(1), End()]
    assert kinds(session(client.server).receiver(credit=5)) == [Attach, Transfer]


def test_input_for_an_endpoint_in_error_ends_the_session() -> None:
    for said in (
        Transfer(0, 9, b"t", 0),
        Flow(0, 1, 0, 1, 0),
        Attach("again", 0, Role.RECEIVER, source=Source("q")),
        Attach("s0", 7, Role.SENDER, initial_delivery_count=0),
    ):
        client = session(peer(max_message_size=2))
        client.sender()
        client.transfer(b"too large", 0)
        assert condition(client.hear()) == LinkError.MESSAGE_SIZE_EXCEEDED
        assert condition(client.ask(said)) == SessionError.ERRANT_LINK
    client = session(peer(max_message_size=2))
    client.sender()
    client.transfer(b"too large", 0)
    client.listen()
    resumed = Attach("s0", 7, Role.SENDER, initial_delivery_count=0, unsettled={}, target=Target("q"))
    assert kinds(client.ask_all(resumed, Detach(0, True))) == [Attach, Flow]
    client = unsettled()
    client.transfer(b"m", 0, handle=1)
    assert condition(client.hear()) == AmqpError.NOT_ALLOWED
    assert condition(client.ask(Disposition(Role.RECEIVER, 0, None, True))) == SessionError.ERRANT_LINK
    client = unsettled()
    client.transfer(b"m", 0, handle=1)
    client.send(Detach(1, True), Disposition(Role.RECEIVER, 0, None, True))
    assert kinds(client.listen()) == [Detach]


# -- credit --------------------------------------------------------------------------------------------


def test_credit_is_counted_from_the_count_that_the_receiver_knows() -> None:
    client = session(peer(initial_delivery_count=TOP))
    client.sender()
    attach, *_ = client.receiver(credit=0)
    assert attach.initial_delivery_count == TOP
    for number in range(5):
        client.transfer(b"%d" % number, number, settled=True)
    client.send(Flow(0, 100, 5, 100, 1, None, 3))
    assert len(client.bodies()) == 3
    client.send(Flow(3, 100, 5, 100, 1, TOP, 4))
    assert len(client.bodies()) == 1
    flow = client.ask(Flow(4, 100, 5, 100, 1, TOP, 0, echo=True))
    assert (flow.delivery_count, flow.link_credit, flow.available, flow.drain) == (2, 0, 1, False)
    transfer, drained = client.ask_all(Flow(4, 100, 5, 100, 1, 2, (1 << 32) - 1, drain=True))
    assert (kinds([transfer]), drained.delivery_count, drained.drain) == ([Transfer], 1, True)
    nothing = client.ask(Flow(5, 100, 5, 100, 1, 1, 0, drain=True))
    assert (nothing.delivery_count, nothing.link_credit, nothing.drain) == (1, 0, True)
    client = session(peer(available="not told"))
    client.receiver(1)
    assert client.ask(Flow(0, 100, 0, 100, 1, 0, 0, echo=True)).available is None


def test_a_sender_states_its_count_and_the_limit_stays() -> None:
    client = session()
    client.sender(initial_delivery_count=TOP)
    client.send(Flow(0, 100, 0, 100, 0, 0))
    assert client.listen() == []
    flow = client.ask(Flow(0, 100, 0, 100, 0, echo=True))
    assert (flow.delivery_count, flow.link_credit) == (0, 98)


def test_credit_is_restored_with_each_message() -> None:
    client = session(peer(link_credit=3, credit_given="each"))
    client.sender()
    client.transfer(b"m", 0, settled=True)
    flow = client.hear()
    assert (flow.link_credit, flow.delivery_count) == (3, 1)
    generous = session(peer(link_credit=1, beyond_credit="ignore"))
    generous.sender()
    generous.peer.sessions[0].links[0].credit = 0
    generous.transfer(b"m", 0, settled=True)
    assert kinds(generous.listen()) == [Flow]
