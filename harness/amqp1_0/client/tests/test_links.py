"""Sessions and links of the 1.0 client on the reference peer: credit, deliveries, outcomes, judgements."""

from __future__ import annotations

import pytest

from harness.amqp1_0.broken.deviations import ignores, rewrites
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import detached, ended_well, fields, session_ended
from harness.amqp1_0.client.tests.test_container import container
from harness.amqp1_0.peer.policy import VARIANTS
from harness.amqp1_0.wire.performatives import (
    Attach,
    Begin,
    Disposition,
    Flow,
    Released,
    SenderSettleMode,
    SessionError,
    Transfer,
)
from harness.amqp1_0.wire.types import As
from harness.play.expect import ControlFailed, Inapplicable, Unmet

TEXT = As(0xA1, "text")
VARIED = [
    name
    for name in VARIANTS
    if name.split(" = ")[0]
    in ("initial_outgoing_id", "incoming_window", "link_credit", "credit_given", "initial_delivery_count")
    or name.startswith(("fragment", "parts_repeat", "first_delivery_id", "last", "batchable", "delivery_tag"))
]


@pytest.mark.parametrize("variant", ["", *VARIED])
def test_messages_go_both_ways_and_are_settled(variant: str) -> None:
    with container(policy=VARIANTS.get(variant)) as (box, _):
        session = box.connection(max_frame_size=512).begin(next_outgoing_id=(1 << 32) - 1)
        sender = session.sender("q", initial_delivery_count=(1 << 32) - 2)
        bodies = [b"%d" % number * 300 for number in range(5)]
        sender.delivers(*bodies)
        assert session.next_outgoing_id == 4
        assert session.window > 0
        receiver = session.receiver("q")
        first, *_ = receiver.takes(2)
        assert bodies[0] in first.payload
        before = receiver.delivery_count
        rest = receiver.takes(3)
        assert receiver.delivery_count == before + 3
        assert [each.id - first.id for each in rest] == [2, 3, 4]
        receiver.settles(first)
        receiver.settles(rest[0], state=Released())
        assert bodies[2] in receiver.takes(1)[0].payload
        receiver.detach()
        sender.detach()
        session.ends_well()


def test_a_link_is_resumed_and_knows_only_what_came_since() -> None:
    with container() as (box, _):
        session = box.session()
        session.sender("q").delivers(b"one", b"two")
        link = session.receiver("q")
        (held,) = link.takes(1)
        link.detach(closed=False)
        tag = held.first.delivery_tag or b""
        again = session.resume(link, {tag: None})
        assert again.partner.unsettled == {tag: None}
        assert again.deliveries() == []
        assert again.delivery_count == 0
        old, new = again.takes(2)
        assert old.first.resume
        assert not new.first.resume
        assert [each.id for each in again.deliveries()] == [old.id, new.id]


def test_a_refusal_to_resume_is_no_failure_where_nobody_has_to() -> None:
    with container(policy=VARIANTS["resuming = refused"]) as (box, _):
        session = box.session()
        link = session.receiver("q")
        link.detach(closed=False)
        with pytest.raises(Inapplicable, match="amqp:not-implemented"):
            session.resume(link, {b"t": None})
        with pytest.raises(ControlFailed):
            session.resume(link, {b"t": None}, absent=())


def test_flows_and_dispositions_are_passed_over_unless_asked_for() -> None:
    with container() as (box, _):
        session = box.connection().begin()
        sender = session.sender("q").granted(100)
        session.send(session.flow(echo=True), sender.flow(echo=True))
        session.expect(fields(Flow, handle=None))
        session.expect(fields(Flow, handle=sender.partner.handle))
        sender.send()
        session.send(session.flow(echo=True))
        session.goes_on("another")
        session.send(session.flow(echo=True))
        with pytest.raises(Unmet, match="but came silence"):
            session.expect(Disposition)
        session.stays("no transfer", Transfer)
        session.send(session.flow(echo=True))
        with pytest.raises(Unmet, match="but came flow"):
            session.stays("no flow", Flow)
        session.tries(Flow(0, 1, 0, 1, 77), session_ended(SessionError.UNATTACHED_HANDLE))


def test_links_in_error() -> None:
    with container() as (box, _):
        session = box.connection().begin()
        with pytest.raises(ControlFailed, match="detach amqp:not-found"):
            session.receiver("")
        other = box.connection().begin()
        sender = other.sender("q", snd_settle_mode=SenderSettleMode.UNSETTLED).granted()
        other.send(sender.carries(sender.transfer(settled=True), b"x"))
        other.expect(detached())
        with pytest.raises(Unmet, match="end amqp:session:errant-link"):
            other.tries(sender.flow(), ended_well())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (rewrites(Begin, next_outgoing_id=None), "begin was answered by begin that is not as defined"),
        (
            rewrites(Attach, initial_delivery_count=TEXT),
            "attach was answered by attach that is not as defined",
        ),
        (rewrites(Flow, link_credit=TEXT), "an attach by credit was answered by silence"),
        (rewrites(Transfer, delivery_id=TEXT), "credit for a message was answered by silence"),
        (rewrites(Disposition, first=None), "a transfer was answered by silence"),
    ],
)
def test_nothing_is_reckoned_with_fields_that_are_not_as_defined(change: object, why: str) -> None:
    def exchange(box: Container) -> None:
        session = box.connection().begin()
        session.sender("q").delivers(b"one")
        session.receiver("q").takes(1)

    with container(change) as (box, _), pytest.raises(ControlFailed, match=why):
        exchange(box)


def test_what_is_left_is_waited_for() -> None:
    with container() as (box, _):
        box.session().sender("q").delivers(b"one", b"two")
        assert box.left("q", 2)[1].endswith(b"two")
        assert box.left("nothing is here") == box.left("nor here", 1) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (ignores(Flow), "credit for a message was answered by silence"),
        (rewrites(Transfer, delivery_id=None), "a first transfer without delivery-id"),
        (
            rewrites(Flow, link_credit=None, delivery_count=None),
            "an attach by credit was answered by silence",
        ),
        (rewrites(Disposition, settled=False), "a transfer was answered by silence"),
        (rewrites(Disposition, state=Released()), "a transfer was answered by disposition"),
    ],
)
def test_controls_say_what_failed(change: object, why: str) -> None:
    def play() -> None:
        with container(change) as (box, _):
            session = box.connection().begin()
            sender, receiver = session.sender("q"), session.receiver("q")
            sender.delivers(b"one")
            receiver.settles(*receiver.takes(1))
            session.ends_well()

    with pytest.raises(ControlFailed, match=why):
        play()
