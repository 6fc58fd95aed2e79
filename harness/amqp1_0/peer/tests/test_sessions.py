"""Sessions and links of the 1.0 reference peer: what fences and traffic need."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer import Limits
from harness.amqp1_0.peer.entities import OVERHEAD
from harness.amqp1_0.peer.policy import Level, Refusal
from harness.amqp1_0.peer.tests.dialogue import EMPTY, HEADER, Client, peer
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import Frame
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    LinkError,
    Open,
    Rejected,
    Released,
    Role,
    SaslInit,
    SenderSettleMode,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import Raw, Symbol


def session(server: Any = None, **fields: Any) -> Client:
    client = Client(server, **fields)
    assert isinstance(client.begin(), Begin)
    return client


# -- sessions ------------------------------------------------------------------------------------------


def test_a_begin_is_answered_on_the_lowest_channel_naming_the_clients() -> None:
    client = Client()
    answers = []
    for channel in (0x0002, 255, 7):
        client.send(Begin(None, 0, 1, 1), channel=channel)
        (frame,) = client.frames()
        answers.append((frame.channel, frame.performative().remote_channel))  # type: ignore[union-attr]
    assert answers == [(0, 2), (1, 255), (2, 7)]
    client.send(End(), channel=255)
    (frame,) = client.frames()
    assert (frame.channel, frame.performative()) == (1, End())  # type: ignore[union-attr]
    client.send(Begin(None, 0, 1, 1), channel=255)
    assert client.frames()[0].channel == 1  # type: ignore[union-attr]


def test_channels_of_ours_may_be_the_highest() -> None:
    client = Client(peer(outgoing_channel="highest"), channel_max=5)
    for channel, ours in ((0, 5), (1, 4), (2, 3)):
        client.send(Begin(None, 0, 1, 1), channel=channel)
        assert client.frames()[0].channel == ours  # type: ignore[union-attr]


def test_no_channel_above_the_clients_is_used() -> None:
    for choice in ("lowest", "highest"):
        client = Client(peer(outgoing_channel=choice), channel_max=0)
        client.begin(channel=9)
        assert client.condition(Begin(None, 0, 1, 1), channel=1) == AmqpError.RESOURCE_LIMIT_EXCEEDED
    client = Client(peer(Limits(sessions=1)))
    client.begin()
    assert client.condition(Begin(None, 0, 1, 1), channel=1) == AmqpError.RESOURCE_LIMIT_EXCEEDED


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        (Begin(None, 0, 1, 1), AmqpError.NOT_ALLOWED),
        (Begin(None, 0, Raw(encode("x")), 1), AmqpError.INVALID_FIELD),
        (Attach(None, 0, Role.SENDER), AmqpError.INVALID_FIELD),
        (End(Raw(encode("x"))), AmqpError.INVALID_FIELD),
    ],
)
def test_what_ends_the_connection(said: Any, condition: str) -> None:
    client = session()
    assert client.condition(said) == condition
    client.send(EMPTY, Flow(0, 1, 0, 1, echo=True), Close())
    assert client.listen() == []


def test_what_is_no_session_is_refused() -> None:
    for said in (End(), Flow(0, 1, 0, 1), Detach(0), Detach(Raw(encode("x")))):
        assert Client().condition(said) == AmqpError.ILLEGAL_STATE
    assert Client().condition(Begin(3, 0, 1, 1)) == AmqpError.NOT_ALLOWED
    assert session().condition(Flow(0, 1, 0, 1), channel=1) == AmqpError.ILLEGAL_STATE


def test_an_invalid_field_may_end_the_session_alone() -> None:
    client = Client(peer(invalid_field=Refusal(AmqpError.INVALID_FIELD, Level.SESSION)))
    client.send(Begin(None, 0, Raw(encode("x")), 1), channel=4)
    begin, end = client.listen()
    assert (begin.remote_channel, end.error.condition) == (4, AmqpError.INVALID_FIELD)
    client.send(Begin(None, 0, 1, 1), EMPTY, Flow(0, 1, 0, 1), channel=4)
    assert client.listen() == []
    client.send(End(), channel=4)
    assert isinstance(client.begin(4), Begin)
    client.send(Attach("a", 0, Raw(encode("x"))), channel=4)
    assert isinstance(client.hear(), End)
    full = Client(peer(invalid_field=Refusal(AmqpError.INVALID_FIELD, Level.SESSION)), channel_max=0)
    full.begin()
    assert full.condition(Begin(None, 0, Raw(encode("x")), 1), channel=1) == AmqpError.INVALID_FIELD


def test_a_flow_is_answered_when_asked() -> None:
    client = session()
    client.send(Flow(0, 1, 0, 1))
    assert client.listen() == []
    client.sender()
    client.transfer(b"m", 0, settled=True)
    client.receiver(credit=0)
    client.send(Flow(0, 0, 0, 1, 1, 0, 1))
    assert client.listen() == []
    transfer, answer = client.ask_all(Flow(0, 1, 0, 1, echo=True))
    assert isinstance(transfer, Transfer)
    answer = client.ask(Flow(1, 1, 1, 1, echo=True))
    assert (answer.next_incoming_id, answer.next_outgoing_id, answer.handle) == (1, 1, None)


# -- links ---------------------------------------------------------------------------------------------


def test_a_sender_is_given_credit_and_its_messages_are_settled() -> None:
    client = session()
    attach, flow = client.sender(handle=8)
    assert (attach.name, attach.handle, attach.role) == ("s8", 0, Role.RECEIVER)
    assert (flow.handle, flow.link_credit, flow.delivery_count) == (0, 100, 0)
    client.transfer(b"one", 5, handle=8)
    assert client.hear() == Disposition(Role.RECEIVER, 5, 5, True, Accepted())
    client.transfer(b"two", 6, handle=8, settled=True)
    assert client.listen() == []
    client.transfer(b"th", 7, handle=8, more=True)
    client.transfer(b"ree", None, handle=8, settled=True)  # type: ignore[arg-type]
    client.transfer(b"lost", 8, handle=8, more=True)
    client.transfer(b"", 8, handle=8, aborted=True)
    assert client.listen() == []
    other = session(client.server)
    attach, *transfers = other.receiver(credit=10)
    assert (attach.role, attach.initial_delivery_count) == (Role.SENDER, 0)
    assert [each.delivery_id for each in transfers] == [0, 1, 2]
    assert sum(map(len, (b"one", b"two", b"three"))) + 3 * OVERHEAD == client.server.nodes.octets


def test_credit_is_given_anew_when_half_is_used() -> None:
    client = session(peer(link_credit=4))
    client.sender()
    flows = []
    for number in range(6):
        client.transfer(b"x", number, settled=True)
        flows += client.listen()
    assert [(each.delivery_count, each.link_credit) for each in flows] == [(2, 4), (4, 4), (6, 4)]
    one = session(peer(link_credit=1))
    one.sender()
    one.transfer(b"x", 0)
    assert [type(each) for each in one.listen()] == [Disposition, Flow]


def test_messages_go_to_receivers_as_far_as_their_credit_goes() -> None:
    client = session()
    client.sender()
    client.receiver(credit=2)
    for number in range(4):
        client.transfer(b"%d" % number, number, settled=True)
    assert client.bodies() == [b"0", b"1"]
    client.send(Flow(4, 1000, 0, 1000, 1, 2, 1))
    assert client.bodies() == [b"2"]
    client.send(Flow(4, 1000, 0, 1000, 1, 3, 5, drain=True))
    transfer, flow = client.listen()
    assert isinstance(transfer, Transfer)
    assert (flow.delivery_count, flow.link_credit) == (8, 0)
    assert client.ask(Flow(4, 1000, 0, 1000, 1, 8, 0, echo=True)).handle == 1


def test_the_clients_window_is_kept() -> None:
    client = Client()
    client.begin(incoming_window=1)
    client.sender()
    client.receiver(credit=0)
    client.send(Flow(0, 1, 0, 1000, 1, 0, 10))
    for number in range(3):
        client.transfer(b"%d" % number, number, settled=True)
    assert client.bodies() == [b"0"]
    client.send(Flow(1, 1, 0, 1000))
    assert client.bodies() == [b"1"]


def test_what_is_not_accepted_goes_back() -> None:
    client = session()
    client.sender()
    client.transfer(b"m", 0, settled=True)
    client.receiver()
    for state, again in ((Released(), True), (None, False)):
        settled = state is None
        client.send(Disposition(Role.RECEIVER, 0, None, settled, state or Rejected()))
        heard = client.listen()
        assert [type(each) for each in heard] == ([] if settled else [Disposition, Transfer])
        assert any(isinstance(each, Transfer) for each in heard) is again
        client.send(Disposition(Role.RECEIVER, 1, 1, True, Accepted()))
    assert client.listen() == []
    assert client.server.nodes.octets == 0


@pytest.mark.parametrize("end", [Detach(1, True), End(), Close(), None])
def test_what_is_not_settled_goes_to_another_receiver(end: Any) -> None:
    client, other = session(), None
    client.sender()
    client.transfer(b"m", 0, settled=True)
    client.receiver()
    other = session(client.server)
    other.receiver()
    client.listen()
    if end is None:
        client.peer.hang_up()
    else:
        client.send(end)
    assert client.listen() == ([] if end is None else [end])
    assert other.bodies() == [b"m"]


def test_what_is_settled_stays_with_the_client() -> None:
    client = session()
    client.sender()
    client.transfer(b"m", 0, settled=True)
    client.receiver(mode=SenderSettleMode.SETTLED)
    client.send(Disposition(Role.RECEIVER, 0, 0, True), Disposition(Role.SENDER, 0, 0, True), Detach(1))
    assert client.hear() == Detach(1)
    assert client.server.nodes.octets == 0


def test_a_large_message_is_cut_to_the_clients_frames() -> None:
    client = session(max_frame_size=512)
    client.sender()
    client.receiver()
    client.transfer(bytes(3000), 0, settled=True)
    frames = client.frames()
    assert len(frames) > 5
    assert all(len(each.encode()) <= 512 for each in frames)  # type: ignore[union-attr]
    assert sum(len(each.read()[1]) for each in frames if isinstance(each, Frame)) == 3000


def test_a_node_can_be_made_up() -> None:
    client = session()
    attach = client.ask(Attach("a", 0, Role.RECEIVER, None, None, Source(dynamic=True)))
    assert attach.source.address
    target = Target(dynamic=True)
    client.send(Attach("b", 1, Role.SENDER, None, None, None, target, initial_delivery_count=0))
    attach, _ = client.listen()
    assert attach.target.address


def test_attaching_what_cannot_be() -> None:
    client = session()
    for refused, condition in (
        (client.sender(3, ""), AmqpError.NOT_FOUND),
        (client.receiver(4, "", 0), AmqpError.NOT_FOUND),
    ):
        attach, detach = refused
        assert (attach.source is None) or (attach.target is None)
        assert (detach.handle, detach.closed) == (attach.handle, True)
        assert detach.error.condition == condition
    client.send(Detach(3, True), Detach(4, True))
    assert client.listen() == []
    assert isinstance(client.sender(3)[0], Attach)


def test_a_restricted_user_may_attach_to_nothing() -> None:
    server = peer()
    server.users["poor"] = "word"
    server.restricted.add("poor")
    client = Client(server, opened=False)
    client.log_in(SaslInit("PLAIN", b"\0poor\0word"))
    client.send(HEADER, Open("me"))
    client.listen()
    client.begin()
    assert client.sender()[-1].error.condition == AmqpError.UNAUTHORIZED_ACCESS


def test_what_ends_the_session() -> None:
    for said, condition in (
        (Transfer(5, 0, b"t", 0), SessionError.UNATTACHED_HANDLE),
        (Flow(0, 1, 0, 1, 5), SessionError.UNATTACHED_HANDLE),
        (Attach("again", 0, Role.SENDER), SessionError.HANDLE_IN_USE),
        (Transfer(0), AmqpError.INVALID_FIELD),
        (Attach("far", 1, Role.RECEIVER, None, None, Source("x" * 2000)), "amqp:resource-limit-exceeded"),
    ):
        client = session()
        client.sender()
        client.send(said)
        assert client.hear().error.condition == condition
        client.send(Transfer(5, 0, b"t", 0), End())
        assert client.listen() == []
        assert isinstance(client.begin(), Begin)


def test_what_ends_the_link() -> None:
    client = session(peer(Limits(content=10)))
    client.sender(0)
    client.sender(1, "other")
    client.receiver(2, "third")
    client.transfer(bytes(11), 0)
    assert client.hear().error.condition == LinkError.MESSAGE_SIZE_EXCEEDED
    client.transfer(bytes(1), 0, handle=2)
    assert client.hear().error.condition == AmqpError.NOT_ALLOWED
    client.peer.sessions[0].links[1].credit = 0
    client.transfer(b"", 0, handle=1)
    assert client.hear().error.condition == LinkError.TRANSFER_LIMIT_EXCEEDED
    client.transfer(b"", 0, handle=1)
    assert client.hear().error.condition == SessionError.ERRANT_LINK


def test_symbols_and_nulls_change_nothing() -> None:
    for choices in ({"descriptors": "symbols"}, {"absent_fields": "null"}, {"extended_header": bytes(4)}):
        client = session(peer(**choices), max_frame_size=512)
        client.sender()
        client.receiver()
        client.transfer(bytes(3000), 0, settled=True)
        frames = client.frames()
        assert all(len(each.encode()) <= 512 for each in frames)  # type: ignore[union-attr]
        if "descriptors" in choices:
            assert frames[0].performative().descriptor == Symbol("amqp:transfer:list")  # type: ignore
