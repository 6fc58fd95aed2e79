"""The reference peer keeps what is unsettled on a suspended link, and compares it later (2.6.13)."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer import Limits, Peer
from harness.amqp1_0.peer.tests.dialogue import Client, peer
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Begin,
    Detach,
    Disposition,
    End,
    Flow,
    LinkError,
    ReceiverSettleMode,
    Released,
    Role,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import Map, Symbol

FIRST, SECOND = bytes(4), bytes([0, 0, 0, 1])
NEVER = Symbol("never")
RECEIVER = Attach("r1", 1, Role.RECEIVER, source=Source("q"), target=Target("me"))
SENDER = Attach(
    "s0",
    0,
    Role.SENDER,
    None,
    ReceiverSettleMode.SECOND,
    Source("me"),
    Target("q"),
    initial_delivery_count=0,
)
CREDIT = Flow(0, 1000, 0, 1000, 1, 0, 10)


def taken(server: Peer | None = None, attach: Attach = RECEIVER, count: int = 2, **fields: Any) -> Client:
    """A client that has taken messages and not settled them, of one more that is there."""
    client = Client(server, **fields)
    client.begin()
    client.sender()
    for number in range(count + 1):
        client.transfer(b"%d" % number, number, settled=True)
    client.send(attach, CREDIT.replace(link_credit=count))
    client.listen()
    return client


def suspended(server: Peer | None = None, count: int = 2, **fields: Any) -> Client:
    client = taken(server, count=count, **fields)
    assert client.ask(Detach(1)) == Detach(1)
    return client


def resumed(client: Client, unsettled: dict[bytes, Any], **fields: Any) -> tuple[Attach, list[Transfer]]:
    """Resume the receiver and give credit; the answer, and what comes."""
    client.send(RECEIVER.replace(unsettled=unsettled, **fields), CREDIT.replace(next_incoming_id=None))
    answer, *transfers = client.listen()
    assert isinstance(answer, Attach)
    return answer, transfers


def sent_second(server: Peer | None = None, count: int = 2, **fields: Any) -> Client:
    """A client whose messages have an outcome and are not settled, on a link that it has detached."""
    client = Client(server, **fields)
    client.begin()
    client.send(SENDER)
    client.listen()
    for number in range(count):
        client.transfer(b"m", number, delivery_tag=bytes([number]))
    client.listen()
    assert client.ask(Detach(0)) == Detach(0)
    return client


def condition(heard: Any) -> str:
    return str(heard.error.condition)


# -- the peer sends ------------------------------------------------------------------------------------


def test_what_both_have_is_resumed_and_what_only_the_peer_has_is_sent_again() -> None:
    answer, came = resumed(suspended(), {FIRST: None, b"unknown": None})
    assert answer.unsettled == {FIRST: None, SECOND: None}
    assert answer.incomplete_unsettled is not True
    assert [(each.delivery_tag, each.resume) for each in came[:1]] == [(FIRST, True)]
    assert [each.resume for each in came[1:]] == [False, False]
    assert len({each.delivery_tag for each in came}) == len({each.delivery_id for each in came}) == 3


def test_what_only_the_peer_has_may_be_dropped() -> None:
    client = suspended(peer(only_ours="dropped"))
    _, came = resumed(client, {FIRST: None})
    assert [each.resume for each in came] == [True, False]


@pytest.mark.parametrize(("carried", "payload"), [("left out", b""), ("whole", b"0")])
def test_an_outcome_of_the_receiver_settles_what_is_resumed(carried: Any, payload: bytes) -> None:
    client = suspended(peer(resumed_payload=carried), count=1)
    client.send(RECEIVER.replace(unsettled={FIRST: Accepted()}), CREDIT.replace(link_credit=1))
    _, frame = client.frames()
    said, octets = frame.read()  # type: ignore[union-attr]
    assert isinstance(said, Transfer)
    assert said.resume
    assert said.settled
    assert octets == payload
    assert [bytes(each.octets) for each in client.server.nodes.by_name["q"].messages] == [b"1"]


def test_what_the_receiver_has_released_goes_back() -> None:
    client = suspended(count=1)
    client.send(RECEIVER.replace(unsettled={FIRST: Released()}), CREDIT.replace(link_credit=1))
    client.listen()
    assert [bytes(each.octets) for each in client.server.nodes.by_name["q"].messages] == [b"0", b"1"]


def test_an_incomplete_map_settles_nothing_and_nothing_new_comes() -> None:
    client = suspended()
    _, came = resumed(client, {FIRST: None}, incomplete_unsettled=True)
    assert [(each.delivery_tag, each.resume) for each in came] == [(FIRST, True)]
    client.send(Disposition(Role.RECEIVER, came[0].delivery_id, None, True, Accepted()), Detach(1))
    client.listen()
    answer, came = resumed(client, {SECOND: None})
    assert answer.unsettled == {SECOND: None}
    assert [each.resume for each in came] == [True, False]


def test_a_map_that_fits_no_frame_is_cut_or_ends_the_session() -> None:
    many = 100
    answer, came = resumed(suspended(count=many, max_frame_size=512), {FIRST: None})
    assert answer.incomplete_unsettled
    assert 0 < len(answer.unsettled or ()) < many
    assert all(each.resume for each in came)
    client = suspended(peer(large_map="ends the session"), count=many, max_frame_size=512)
    assert condition(client.ask(RECEIVER.replace(unsettled={}))) == AmqpError.FRAME_SIZE_TOO_SMALL


def test_a_link_is_recovered_by_its_name() -> None:
    client = suspended(count=1)
    answer, _ = resumed(client, {}, source=None)
    assert answer.source == Source("q")
    client = suspended(peer(recovering="refused"), count=1)
    answer, detach = client.ask_all(RECEIVER.replace(unsettled={}, source=None))
    assert answer.source is None
    assert condition(detach) == AmqpError.NOT_FOUND


def test_the_source_stays_where_it_is() -> None:
    answer, came = resumed(suspended(count=1), {}, source=Source("elsewhere"))
    assert answer.source == Source("q")
    assert len(came) == 2


def test_resuming_may_not_be_implemented() -> None:
    client = suspended(peer(resuming="refused"), count=1)
    answer, detach = client.ask_all(RECEIVER.replace(unsettled={FIRST: None}))
    assert answer.source is None
    assert condition(detach) == AmqpError.NOT_IMPLEMENTED


# -- links that outlive their sessions -----------------------------------------------------------------


def lasting(**choices: Any) -> tuple[Client, Attach]:
    attach = RECEIVER.replace(source=Source("q", expiry_policy=NEVER))
    return taken(peer(**choices), attach, count=1, container="lasting"), attach


def test_a_link_that_never_expires_outlives_session_and_connection() -> None:
    client, attach = lasting()
    assert client.ask(End()) == End()
    again = attach.replace(unsettled={FIRST: None})
    assert isinstance(client.begin(), Begin)
    assert client.ask(again).unsettled == {FIRST: None}
    client.peer.hang_up()
    other = Client(client.server, container="lasting")
    other.begin()
    assert other.ask(again).unsettled == {FIRST: None}
    assert client.server.outliving == []


def test_a_link_expires_with_its_session_where_that_is_so() -> None:
    client, attach = lasting(expiry="with the session")
    assert client.ask(End()) == End()
    client.begin()
    answer = client.ask(attach.replace(unsettled={FIRST: None}))
    assert answer.unsettled == Map([])
    assert answer.source.expiry_policy != NEVER


def test_of_too_many_links_the_oldest_is_forgotten() -> None:
    server = peer(Limits(termini=1))
    client = Client(server)
    client.begin()
    for number in (1, 2):
        client.ask(
            RECEIVER.replace(name=f"r{number}", handle=number, source=Source("q", expiry_policy=NEVER))
        )
    client.ask(End())
    assert [each.key[2] for each in server.outliving if each.key] == ["r2"]
    assert [name for _, _, name in server.termini] == ["r2"]


def test_a_link_that_is_attached_is_resumed_elsewhere_with_its_deliveries() -> None:
    client = taken(count=1, container="one")
    other = Client(client.server, container="one")
    other.begin()
    assert other.ask(RECEIVER.replace(unsettled={FIRST: None})).unsettled == {FIRST: None}
    assert condition(client.hear()) == LinkError.STOLEN
    assert client.ask_all(Detach(1), End()) == [End()]
    other.send(CREDIT.replace(link_credit=1))
    assert other.bodies() == [b"0"]


def test_what_is_resumed_nowhere_goes_back_when_the_link_closes() -> None:
    client = suspended(count=1)
    client.send(RECEIVER.replace(unsettled={FIRST: None}))
    client.listen()
    assert client.ask(Detach(1, True)) == Detach(1, True)
    assert len(client.server.nodes.by_name["q"].messages) == 2


# -- the client sends ----------------------------------------------------------------------------------


def test_what_the_client_resumes_is_taken_up_once_and_what_it_has_not_is_settled() -> None:
    client = sent_second(count=3)
    answer, _ = client.ask_all(SENDER.replace(unsettled={bytes([0]): None, bytes([1]): None}))
    assert answer.unsettled == {bytes([each]): Accepted() for each in range(3)}
    client.transfer(b"m", 3, delivery_tag=bytes([0]), resume=True, more=True)
    client.transfer(b"m", 3, delivery_tag=bytes([0]))
    assert client.hear() == Disposition(Role.RECEIVER, 3, 3, None, Accepted())
    client.send(Disposition(Role.SENDER, 3, None, True))
    client.transfer(b"", 4, delivery_tag=bytes([1]), resume=True, settled=True)
    client.transfer(b"m", 5, delivery_tag=bytes([2]), resume=True)
    assert client.listen() == []
    assert client.ask(Detach(0)) == Detach(0)
    assert client.ask_all(SENDER.replace(unsettled={}))[0].unsettled == Map([])
    assert len(client.server.nodes.by_name["q"].messages) == 3


def test_what_is_being_resumed_when_the_link_is_detached_is_unsettled_still() -> None:
    client = sent_second(count=1)
    client.ask_all(SENDER.replace(unsettled={bytes([0]): None}))
    client.transfer(b"", 1, delivery_tag=bytes([0]), resume=True, more=True)
    assert client.ask(Detach(0)) == Detach(0)
    assert client.ask_all(SENDER.replace(unsettled={}))[0].unsettled == {bytes([0]): Accepted()}


def test_what_is_taken_up_on_a_link_of_first_is_settled() -> None:
    client = sent_second(count=1)
    client.ask_all(SENDER.replace(unsettled={bytes([0]): None}, rcv_settle_mode=ReceiverSettleMode.FIRST))
    client.transfer(b"", 3, delivery_tag=bytes([0]), resume=True)
    assert client.hear() == Disposition(Role.RECEIVER, 3, 3, True, Accepted())


def test_behind_an_incomplete_map_of_the_peer_a_new_delivery_is_refused() -> None:
    server = peer(Limits(unsettled=200))
    client = sent_second(server, count=90, max_frame_size=512)
    answer, _ = client.ask_all(SENDER.replace(unsettled={bytes([0]): None}))
    assert answer.incomplete_unsettled
    client.transfer(b"m", 90, delivery_tag=b"new")
    assert condition(client.hear()) == AmqpError.ILLEGAL_STATE


# -- links in error ------------------------------------------------------------------------------------


def erred() -> Client:
    client = Client(peer(max_message_size=2))
    client.begin()
    client.sender()
    client.transfer(b"too large")
    assert condition(client.hear()) == LinkError.MESSAGE_SIZE_EXCEEDED
    return client


def test_a_link_in_error_can_be_resumed_on_another_handle_before_it_is_detached() -> None:
    client = erred()
    assert isinstance(client.ask_all(SENDER.replace(handle=5, unsettled={}))[0], Attach)
    assert client.ask_all(Detach(0), End()) == [End()]


def test_a_link_in_error_is_resumed_and_not_reattached() -> None:
    again = SENDER.replace(rcv_settle_mode=None)
    client = erred()
    assert condition(client.ask(Detach(0), again)) == SessionError.ERRANT_LINK
    client = erred()
    client.send(Detach(0))
    assert client.ask_all(again.replace(unsettled={}))[0].unsettled == Map([])
    client = erred()
    client.send(Detach(0, True))
    assert isinstance(client.ask_all(again)[0], Attach)
