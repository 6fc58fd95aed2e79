"""The fixture of the 1.0 scenarios, before the reference peer, its variants, and peers that break rules."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Semaphore
from typing import Any

import pytest

from harness.amqp0_9_1.client.tests.test_client import Kept, Script
from harness.amqp1_0.broken.deviations import (
    Interposer,
    answers,
    ends_by,
    ends_with,
    follows,
    ignores_frames,
    is_unread,
    rewrites,
)
from harness.amqp1_0.client.connection import OtherHeader
from harness.amqp1_0.client.container import Container, Layers
from harness.amqp1_0.client.outcomes import (
    Refusal,
    closed,
    closed_without_error,
    fields,
    goes_on,
    refused,
    stream_ended,
)
from harness.amqp1_0.peer.policy import VARIANTS, Policy
from harness.amqp1_0.wire.frames import (
    PROTOCOL_HEADER,
    SASL_HEADER,
    Frame,
    RawFrame,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    Open,
    SaslChallenge,
    SaslCode,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
)
from harness.amqp1_0.wire.types import Raw
from harness.dialect import dialect
from harness.play.context import Context
from harness.play.expect import ControlFailed, Inapplicable, Inconclusive, NotRun, Unmet
from harness.targets.embedded import EmbeddedTarget
from harness.targets.target import Endpoint, Target
from harness.wire.journal import Event, Expected, Grade
from harness.wire.transport import End as StreamEnd

DIALECT = dialect("1-0")
MISMATCHED = b"AMQP\0\1\1\0"
BAD_BODY = Frame(0, 0, b"\x40")
EACH = [pytest.param(policy, id=name) for name, policy in VARIANTS.items()]


@contextmanager
def container(
    change: object = None, policy: object = None, target: Target | None = None
) -> Iterator[tuple[Container, list[Event]]]:
    kept = Kept()
    with DIALECT.speaker.session(target or EmbeddedTarget(change, policy), Context(kept, "test")) as fixture:
        yield fixture, kept.events


def grade(events: list[Event]) -> Grade:
    return [event.grade for event in events if isinstance(event, Expected)][-1]


def scripted(*scripts: Script, layers: Layers | None = None) -> Container:
    waiting = iter(scripts)
    return Container(
        lambda: next(waiting), Endpoint("script", 0), Context(Kept(), "test"), "1-0", layers or Layers()
    )


def said(script: Script) -> bytes:
    return b"".join(script.sent)


OPEN = amqp_frame(0, Open("peer", channel_max=1)).encode()
OFFER = SASL_HEADER + sasl_frame(SaslMechanisms("PLAIN")).encode()
LET_IN = sasl_frame(SaslOutcome(0)).encode()


# -- layers and headers --------------------------------------------------------------------------------


def test_a_connection_goes_through_sasl_where_it_is_offered() -> None:
    script = Script(OFFER, LET_IN, PROTOCOL_HEADER, OPEN)
    connection = scripted(script).connection(max_frame_size=512)
    assert connection.heard() == [
        "protocol header AMQP 3 1-0-0",
        "sasl-mechanisms on channel 0",
        "sasl-outcome on channel 0",
        "protocol header AMQP 0 1-0-0",
        "open on channel 0",
    ]
    init = SaslInit("PLAIN", b"\0guest\0guest")
    opening = Open("test-c1", max_frame_size=512)
    assert said(script) == (
        SASL_HEADER + sasl_frame(init).encode() + PROTOCOL_HEADER + amqp_frame(0, opening).encode()
    )


@pytest.mark.parametrize("answer", [[PROTOCOL_HEADER, StreamEnd.FIN], [StreamEnd.FIN]])
def test_without_sasl_a_new_connection_begins_with_amqp_and_it_is_not_asked_again(answer: list[Any]) -> None:
    plain = Script(PROTOCOL_HEADER, OPEN)
    fixture = scripted(Script(*answer), plain, Script(PROTOCOL_HEADER))
    fixture.connection()
    assert said(plain).startswith(PROTOCOL_HEADER)
    fixture.negotiated()
    with pytest.raises(Inapplicable):
        fixture.offered()


def test_the_header_of_another_protocol_is_told_apart() -> None:
    with pytest.raises(OtherHeader) as failure:
        scripted(Script(b"AMQP\0\0\x09\x01", StreamEnd.FIN)).negotiated()
    assert failure.value.header.version == (0, 9, 1)


def test_a_challenge_gets_the_response_again_but_not_for_ever() -> None:
    challenge = sasl_frame(SaslChallenge(b"once more")).encode()
    script = Script(OFFER, challenge, LET_IN, PROTOCOL_HEADER)
    scripted(script).negotiated()
    assert said(script).count(b"\0guest\0guest") == 2
    with pytest.raises(ControlFailed, match="one sasl-challenge after the other"):
        scripted(Script(OFFER, challenge * 9)).negotiated()


def test_who_is_not_let_in_has_a_failed_control() -> None:
    with pytest.raises(ControlFailed, match="sasl-init was answered by sasl-outcome auth"):
        scripted(Script(OFFER, sasl_frame(SaslOutcome(1)).encode())).negotiated()


def test_every_step_of_sasl_can_be_made_otherwise() -> None:
    with container() as (fixture, _):
        connection, offered = fixture.offered(mechanism="ANONYMOUS")
        assert "ANONYMOUS" in offered.sasl_server_mechanisms
        connection.authenticate(connection.init(hostname="a-host"))
        connection.exchange_headers()
        connection.open(hostname="a-host")
    with container() as (fixture, _):
        connection, _offered = fixture.offered()
        connection.send(connection.init(initial_response=b"\0guest\0wrong"))
        connection.expect(fields(SaslOutcome, code=SaslCode.AUTH))


@pytest.mark.parametrize("policy", EACH)
def test_every_legal_variant_is_connected_to_and_left(policy: Policy) -> None:
    with container(policy=policy) as (fixture, _):
        connection = fixture.connection()
        connection.fence()
        connection.goes_on()
        connection.stays_quiet()
        session = connection.begin()
        session.receiver("q").detach()
        session.sender("q").detach()
        session.end()
    assert connection.link.over


# -- judging -------------------------------------------------------------------------------------------


def test_a_server_that_gives_up_is_told_from_one_that_goes_on() -> None:
    with container() as (fixture, events):
        connection = fixture.connection()
        connection.send(BAD_BODY)
        connection.gives_up(*refused(Refusal.CONDITION, AmqpError.DECODE_ERROR))
        assert grade(events) is Grade.PREFERRED
    with container(ignores_frames(is_unread)) as (fixture, _):
        connection = fixture.connection()
        connection.send(BAD_BODY)
        with pytest.raises(Unmet, match="but came begin"):
            connection.gives_up(*refused(Refusal.OPENED))


def test_where_ignoring_is_legal_it_can_be_named() -> None:
    with container(policy=replace(Policy(), foreign_type="ignore")) as (fixture, events):
        connection = fixture.connection()
        connection.send(RawFrame(Close().encode(), type=2))
        connection.gives_up(*refused(Refusal.OPENED), goes_on().under("the frame may be ignored as a whole"))
        assert grade(events) is Grade.TOLERATED
        connection.send(Close())
        connection.expect(closed_without_error())


@pytest.mark.parametrize("policy", [Policy(), Policy(open="first")])
def test_a_refused_open_comes_behind_the_servers_open(policy: Policy) -> None:
    with container(policy=policy) as (fixture, events):
        connection = fixture.negotiated()
        connection.send(Open())
        connection.refuses(*refused(Refusal.OPENING))
        assert grade(events) is Grade.PREFERRED
    with container(policy=replace(Policy(), refusal_before_open="end")) as (fixture, events):
        connection = fixture.negotiated()
        connection.send(Open())
        connection.refuses(*refused(Refusal.OPENING))
        assert grade(events) is Grade.TOLERATED


def test_what_comes_unasked_is_seen_before_a_fence_is_passed() -> None:
    with container(follows(Open, Begin(None, 0, 1, 1))) as (fixture, _):
        connection = fixture.connection()
        with pytest.raises(Unmet):
            connection.stays_quiet()


def test_behind_the_end_nothing_may_have_come() -> None:
    with container() as (fixture, _):
        connection = fixture.connection()
        connection.send(Close())
        connection.expect(closed_without_error())
        connection.expect(stream_ended())
        connection.got_nothing()
    with container(follows(Close, empty_frame(3), b"x")) as (fixture, _):
        connection = fixture.connection()
        connection.send(Close())
        connection.expect(Close)
        connection.listen(1.0)
        with pytest.raises(Unmet, match="nothing more"):
            connection.got_nothing()


def test_nothing_more_is_the_end_of_the_stream_or_a_moment_of_silence() -> None:
    for change in (None, ends_by("never")):
        with container(change) as (fixture, _):
            connection = fixture.connection()
            connection.ask(Close(), Close)
            connection.nothing_more()
    for change in (follows(Close, Close()), ends_with(b"\0")):
        with container(change) as (fixture, _):
            connection = fixture.connection()
            connection.ask(Close(), Close)
            with pytest.raises(Unmet, match="nothing more"):
                connection.nothing_more()


def test_what_takes_its_time_can_be_waited_for() -> None:
    with container() as (fixture, _):
        connection = fixture.connection()
        with pytest.raises(Unmet, match="silence"):
            connection.within(9.0, closed())
        assert isinstance(connection.within(9.0, closed()), Close)


def test_a_server_without_room_for_a_fence_decides_nothing() -> None:
    with container(policy=replace(Policy(), channel_max=0)) as (fixture, _):
        connection = fixture.connection()
        connection.begin()
        with pytest.raises(Inconclusive):
            connection.stays_quiet()


def test_the_channel_of_a_session_that_has_ended_is_left_alone_while_there_are_others() -> None:
    with container(policy=replace(Policy(), channel_max=2)) as (fixture, _):
        connection = fixture.connection()
        kept, channels = connection.begin(), []
        for _ in range(4):
            session = connection.begin()
            channels.append(session.channel)
            session.end()
    assert (kept.channel, channels) == (0, [1, 2, 1, 2])


def test_steps_and_one_write_can_be_compared() -> None:
    with container() as (fixture, _):
        steps = fixture.secured()
        before = len(steps.heard())
        steps.exchange_headers()
        steps.open()
        steps.ask(Close(), Close)
        at_once = fixture.secured()
        at_once.send(PROTOCOL_HEADER, at_once.the_open(), Close())
        assert steps.until_end()[before:] == at_once.until_end()[before:]
        octet_by_octet = fixture.secured()
        octet_by_octet.send(PROTOCOL_HEADER, octet_by_octet.the_open(), Close(), by=1)
        assert octet_by_octet.until_end() == steps.heard()


def test_a_connection_can_be_kept_alive_or_left_to_idle() -> None:
    with container() as (fixture, _):
        connection = fixture.connection()
        seconds = connection.idle_time_out(3.0)
        connection.beats()
        connection.listen(3 * seconds)
        connection.goes_on()
        idle = fixture.connection(idle_time_out=1000)
        heard = idle.listen(5.0)
        assert len(heard) >= 5
        assert heard[-1].at <= idle.link.now()
    with container(policy=replace(Policy(), idle_time_out=0)) as (fixture, _), pytest.raises(NotRun):
        fixture.connection().idle_time_out()
    with container(policy=replace(Policy(), idle_time_out=600_000)) as (fixture, _), pytest.raises(NotRun):
        fixture.connection().idle_time_out()


def test_while_the_target_is_at_something_a_connection_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    with container(policy=replace(Policy(), idle_time_out=100)) as (fixture, _):
        connection, beats = fixture.connection(), Semaphore(0)
        send = connection.link.send

        def counted(*what: Any) -> None:
            send(*what)
            if what == (empty_frame(),):
                beats.release()

        def slow(_: str) -> dict[str, str]:
            """Be at it until two empty frames have been sent, or nobody sends any."""
            return {"kept": str(all(beats.acquire(timeout=20) for _ in range(2)))}

        monkeypatch.setattr(connection.link, "now", time.monotonic)  # that of a peer in memory stands still
        monkeypatch.setattr(connection.link, "send", counted)
        fixture.context.facility, fixture.context.facilities = slow, frozenset({"slow"})
        assert fixture.facility("slow") == {"kept": "True"}
        monkeypatch.undo()
        connection.goes_on()
        fixture.context.facility = lambda _: {"at once": "yes"}
        assert fixture.facility("slow") == {"at once": "yes"}
        connection.close()
        assert connection.link.keep_up() is None


def test_a_limit_that_is_no_number_is_none() -> None:
    with container(rewrites(Open, channel_max=Raw(b"\xa1\x01x"))) as (fixture, _):
        connection = fixture.connection()
        connection.fence()
        assert connection.partner.channel_max == 65535
        assert [each.rule for each in fixture.context.breaches] == ["1-0/2.7.1.open-well-formed"]


def test_a_link_to_an_address_needs_one_and_a_refused_one_is_a_failed_control() -> None:
    with container() as (fixture, _):
        if "address" not in fixture.context.facilities:
            with pytest.raises(NotRun):
                fixture.address()
    with container(rewrites_source()) as (fixture, _), pytest.raises(ControlFailed, match="attach"):
        fixture.connection().begin().receiver("q")


def rewrites_source() -> Interposer:
    return rewrites(Attach, source=None) + follows(Begin, b"") + answers(Detach, Detach(0, True))


def test_leaving_says_close_where_it_can_and_never_waits_for_the_deaf() -> None:
    with container() as (fixture, _):
        polite, spoiled, silent = fixture.connection(), fixture.connection(), fixture.socket()
        spoiled.send(RawFrame(size=100))
        before = polite.link.now()
    assert polite.link.over
    assert not spoiled.link.said_close
    assert silent.link.ended is None
    assert polite.link.now() == before


def test_a_connection_that_was_dropped_is_not_closed_again() -> None:
    with container() as (box, _):
        connection = box.connection()
        before = connection.usable
        connection.drop()
        assert (before, connection.usable) == (True, False)
        connection.close()
        assert not connection.link.said_close
