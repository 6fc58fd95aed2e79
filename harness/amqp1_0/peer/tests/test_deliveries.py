"""The reference peer is strict about transfers, deliveries and settlement (2.6.12-2.6.14, 2.7.5, 2.7.6)."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer import Limits
from harness.amqp1_0.peer.policy import Level, Refusal
from harness.amqp1_0.peer.tests.dialogue import peer
from harness.amqp1_0.peer.tests.test_links import TOP, condition, kinds, session, unsettled
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Detach,
    Disposition,
    End,
    Flow,
    Received,
    ReceiverSettleMode,
    Released,
    Role,
    SenderSettleMode,
    SessionError,
    Transfer,
)
from harness.amqp1_0.wire.types import Raw

SECOND = ReceiverSettleMode.SECOND


# -- transfers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        ({"delivery_tag": None}, End),
        ({"message_format": None}, End),
        ({"delivery_id": None}, End),
        ({"delivery_tag": bytes(33)}, End),
        ({"rcv_settle_mode": SECOND}, Detach),
    ],
)
def test_transfers_that_are_refused(said: dict[str, Any], ends: type) -> None:
    client = session()
    client.sender()
    client.transfer(b"m", 0, **said)
    refused = client.hear()
    assert type(refused) is ends
    assert condition(refused) == AmqpError.INVALID_FIELD


@pytest.mark.parametrize("said", [{"delivery_id": 9}, {"delivery_tag": b"u"}, {"message_format": 1}])
def test_another_delivery_amid_one_is_refused(said: dict[str, Any]) -> None:
    for refusal in (
        Refusal(AmqpError.INVALID_FIELD, Level.LINK),
        Refusal(AmqpError.NOT_ALLOWED, Level.SESSION),
    ):
        client = session(peer(interleaved=refusal))
        client.sender()
        client.transfer(b"a", 0, more=True)
        client.transfer(b"b", 0, **({"delivery_id": None} | said))
        assert condition(client.hear()) == refusal.condition


def test_the_senders_mode_binds_its_transfers() -> None:
    for mode, settled in ((SenderSettleMode.SETTLED, None), (SenderSettleMode.UNSETTLED, True)):
        client = session()
        client.sender(snd_settle_mode=mode)
        client.transfer(b"m", 0, settled=not settled)
        assert kinds(client.listen()) == ([] if not settled else [Disposition])
        client.transfer(b"m", 1, more=True, settled=settled)
        client.transfer(b"m", 1)
        assert condition(client.listen()[-1]) in (AmqpError.INVALID_FIELD, SessionError.ERRANT_LINK)
        client = session()
        client.sender(snd_settle_mode=mode)
        client.transfer(b"m", 0, aborted=True, settled=True)
        assert client.listen() == []


def test_a_resumed_delivery_that_nobody_knows_is_ignored() -> None:
    client = session()
    client.sender()
    client.transfer(b"m", 0, resume=True, more=True)
    client.transfer(b"m", 0)
    assert client.listen() == []
    client.transfer(b"new", 1)
    assert kinds(client.listen()) == [Disposition]
    flow = client.ask(Flow(0, 100, 0, 100, 0, echo=True))
    assert (flow.delivery_count, flow.link_credit) == (2, 98)
    assert [bytes(each.octets) for each in client.server.nodes.by_name["q"].messages] == [b"new"]


def test_pieces_say_what_the_policy_has_them_say() -> None:
    for choices, ids, flags in (
        ({"fragment": 4}, [0, None, None], [True, False, False]),
        ({"fragment": 4, "parts_repeat": True, "settled_on": "the last"}, [0, 0, 0], [False, False, True]),
    ):
        client = session(peer(batchable=True, delivery_tag_size=32, **choices))
        client.sender()
        client.transfer(b"0123456789", 0, settled=True)
        client.receiver(credit=0, mode=SenderSettleMode.SETTLED)
        sent = client.ask_all(Flow(0, 100, 0, 100, 1, None, 1))
        assert [each.delivery_id for each in sent] == ids
        assert [bool(each.settled) for each in sent] == flags
        assert [each.more for each in sent] == [True, True, False]
        assert len(sent[0].delivery_tag) == 32
        assert all(each.batchable for each in sent)


# -- settlement ----------------------------------------------------------------------------------------


def test_a_receiver_of_second_settles_behind_the_sender() -> None:
    client = session(peer(last="left out"))
    client.sender(rcv_settle_mode=SECOND)
    client.transfer(b"m", TOP)
    assert client.hear() == Disposition(Role.RECEIVER, TOP, None, None, Accepted())
    client.transfer(b"m", TOP + 1)
    assert condition(client.hear()) == AmqpError.NOT_ALLOWED
    client = session()
    client.sender(rcv_settle_mode=SECOND)
    client.transfer(b"m", TOP)
    client.transfer(b"m", 0, delivery_tag=b"u", rcv_settle_mode=ReceiverSettleMode.FIRST)
    second, first = client.listen()
    assert (second.settled, first.settled) == (False, True)
    client.send(Disposition(Role.SENDER, TOP, TOP + 1, True, Accepted()))
    assert client.listen() == []
    assert client.peer.sessions[0].received == {}
    client = session(peer(receiver_mode="first"))
    attach, _ = client.sender(rcv_settle_mode=SECOND)
    assert attach.rcv_settle_mode == ReceiverSettleMode.FIRST


def test_who_leaves_much_unsettled_gets_no_credit() -> None:
    client = session(peer(Limits(unsettled=2), link_credit=1))
    client.sender(rcv_settle_mode=SECOND)
    client.transfer(b"m", 0, delivery_tag=b"0")
    assert kinds(client.listen()) == [Disposition, Flow]
    client.transfer(b"m", 1, delivery_tag=b"1")
    assert kinds(client.listen()) == [Disposition]


def test_a_disposition_covers_what_lies_between_serial_numbers() -> None:
    client = session(peer(first_delivery_id=TOP))
    client.sender()
    client.receiver()
    for number in range(4):
        client.transfer(b"%d" % number, number, settled=True)
    client.listen()
    assert client.ask_all(Disposition(Role.RECEIVER, 1, TOP, True, Accepted())) == []
    assert len(client.peer.sessions[0].unsettled) == 4
    client.send(Disposition(Role.RECEIVER, TOP, 0, True, Accepted()))
    assert list(client.peer.sessions[0].unsettled) == [1]


def test_a_state_that_is_no_outcome_leaves_the_delivery_open() -> None:
    client = unsettled()
    assert client.ask_all(Disposition(Role.RECEIVER, 0, None, None, Received(0, 0))) == []
    assert client.ask_all(Disposition(Role.RECEIVER, 0)) == []
    answer = client.ask_all(Disposition(Role.RECEIVER, 0, None, None, Released()))
    assert kinds(answer) == [Disposition, Transfer]
    assert client.ask_all(Disposition(Role.RECEIVER, 5, None, None, Accepted())) == []
    assert condition(client.ask(Disposition(Raw(encode(True)), None))) == AmqpError.INVALID_FIELD


def test_outcomes_are_gathered_and_told_a_moment_later() -> None:
    client = session(peer(outcomes="gathered"))
    client.sender()
    for number in range(3):
        client.transfer(b"m", number)
    client.transfer(b"m", 3, settled=True)
    client.transfer(b"m", 4)
    assert kinds(client.listen()) == []
    told = [each for each in client.wait(0.1) if isinstance(each, Disposition)]
    assert [(each.first, each.last, each.settled) for each in told] == [(0, 2, True), (4, 4, True)]
    assert kinds(client.wait(0.1)) == []
