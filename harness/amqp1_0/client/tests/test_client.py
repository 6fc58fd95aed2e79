"""The 1.0 client, on a transport that says what the test wrote down."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.client.tests.test_client import Kept, Said, Script
from harness.amqp1_0.client.link import CONNECTION, Link
from harness.amqp1_0.client.outcomes import (
    EmptyFrame,
    HeaderReceived,
    Received,
    Refusal,
    closed,
    refused,
    signature,
)
from harness.amqp1_0.client.transcript import Framed
from harness.amqp1_0.wire.composites import Composite
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
    Begin,
    Close,
    End,
    Error,
    Flow,
    Open,
    SaslInit,
)
from harness.amqp1_0.wire.types import Raw
from harness.play.context import Context, Patience
from harness.play.expect import NotRun, OverBudget, Unmet
from harness.play.link import Closed, Silence, Unreadable
from harness.play.watching import Fold, Found, Gaps, Watching, came
from harness.wire.journal import Direction, Ended, Expected, Grade, Octets, Seen
from harness.wire.transport import End as StreamEnd
from harness.wire.units import Header


def link(*lines: Said, patience: Patience | None = None) -> tuple[Link, Kept, Script]:
    kept, script = Kept(), Script(*lines)
    context = Context(kept, "test", patience=patience or Patience())
    return Link(script, context, "c1", "1-0"), kept, script


def octets(performative: Composite, channel: int = 0, payload: bytes = b"") -> bytes:
    return amqp_frame(channel, performative, payload).encode()


def begin(ours: int, theirs: int) -> bytes:
    return octets(Begin(ours, 0, 1, 1), theirs)


OPEN = Open("a-peer")
DECODE = Close(Error(AmqpError.DECODE_ERROR, "because"))
EMPTY = empty_frame().encode()


# -- what is seen --------------------------------------------------------------------------------------


def test_the_connection_sees_everything_in_order_of_arrival() -> None:
    client, _, _ = link(PROTOCOL_HEADER + octets(OPEN) + begin(3, 0) + octets(Close()))
    assert client.next(CONNECTION, 1.0) == HeaderReceived(Header(PROTOCOL_HEADER))
    kinds = [client.next(CONNECTION, 1.0) for _ in range(3)]
    assert [signature(each) for each in kinds] == ["open", "begin", "close without error"]


def test_a_session_is_known_by_our_channel_whatever_the_servers_is() -> None:
    client, _, _ = link(begin(7, 0) + begin(3, 1) + octets(End(), 1) + octets(End(), 0))
    assert signature(client.next(3, 1.0)) == "begin"
    assert client.next(3, 1.0) == Received(1, End())
    seen = client.next(7, 1.0)
    assert isinstance(seen, Received)
    assert (seen.channel, seen.session, seen.performative.remote_channel) == (0, 7, 7)


def test_a_channel_ended_belongs_to_nobody() -> None:
    client, _, _ = link(begin(7, 2) + octets(End(), 2) + octets(Flow(0, 1, 0, 1), 2))
    client.next(7, 1.0)
    client.next(7, 1.0)
    assert isinstance(client.next(7, 1.0), Silence)


def test_what_concerns_the_whole_connection_is_seen_by_a_session() -> None:
    client, _, _ = link(octets(OPEN), octets(DECODE, 9), b"HTTP/1.1")
    assert client.next(4, 1.0) == Received(0, OPEN)
    assert client.next(4, 1.0) == Received(9, DECODE)
    assert client.next(4, 1.0) == Unreadable("no frame")


def test_flows_of_a_session_do_not_stand_in_the_way_and_are_kept_for_it() -> None:
    flow = Flow(0, 1, 0, 1)
    client, _, _ = link(begin(1, 0) + octets(flow) + octets(DECODE))
    client.next(1, 1.0)
    assert client.next(CONNECTION, 1.0) == Received(0, DECODE)
    assert client.next(1, 1.0) == Received(0, flow)


def test_empty_frames_are_heard_only_if_asked_for() -> None:
    client, _, _ = link(EMPTY + octets(OPEN), empty_frame(5).encode())
    assert client.next(CONNECTION, 1.0) == Received(0, OPEN)
    client.hears_empty_frames = True
    assert client.next(CONNECTION, 1.0) == EmptyFrame(5)
    assert len(client.transcript) == 3


def test_octets_may_come_one_by_one() -> None:
    client, _, _ = link(*(bytes((each,)) for each in PROTOCOL_HEADER + octets(OPEN)))
    assert signature(client.next(CONNECTION, 1.0)) == "protocol header AMQP 0 1-0-0"
    assert client.next(CONNECTION, 1.0) == Received(0, OPEN)
    assert client.partner == OPEN


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (RawFrame(size=4).encode(), "no frame"),
        (Frame(0, 0, b"\x00").encode(), "a frame that cannot be decoded"),
        (Frame(0, 0, b"\x00\x53\x18\xc1\x01\x00").encode(), "a frame that cannot be decoded"),
        (Frame(1, 0).encode(), "an empty frame of SASL"),
    ],
)
def test_what_breaks_the_document_is_an_observation(said: bytes, why: str) -> None:
    assert link(said)[0].next(CONNECTION, 1.0) == Unreadable(why)


@pytest.mark.parametrize(
    ("said", "rule", "what"),
    [
        (RawFrame(doff=1).encode(), "2.3.1.size-covers-frame", "a data offset of 1"),
        (RawFrame(doff=9).encode(), "2.3.1.size-covers-frame", "a data offset beyond the frame"),
        (Frame(0, 0, b"\x40").encode(), "2.3.2.performative-defined", "no performative"),
        (Frame(0, 0, b"\x00\x53\x19\x45").encode(), "2.3.2.performative-defined", "no performative"),
        (Frame(2, 0, b"\x40").encode(), "2.3.1.type-names-layer", "a frame of type 2"),
        (Frame(2, 0).encode(), "2.3.1.type-names-layer", "a frame of type 2"),
        (2 * PROTOCOL_HEADER, "2.2.data-matches-header", "the protocol header came again"),
        (2 * octets(OPEN), "2.4.6.open-sent-once", "open came again"),
        (
            Frame(1, 0, OPEN.encode()).encode(),
            "2.3.1.type-names-layer",
            "a performative in a frame of type 1",
        ),
        (Frame(0, 0, b"\x00\x53\x10\xc1\x01\x00").encode(), "2.7.1.open-well-formed", "an open that cannot"),
        (
            octets(OPEN.replace(channel_max=Raw(b"\xa1\1x"))),
            "2.7.1.open-well-formed",
            "the channel-max of an",
        ),
    ],
)
def test_a_breach_of_known_length_is_kept_and_the_exchange_goes_on(said: bytes, rule: str, what: str) -> None:
    client, _, _ = link(said, octets(Begin(0, 0, 1, 1)))
    while (seen := client.next(CONNECTION, 1.0)) != Silence(1.0):
        last = seen
    assert isinstance(last, Received)
    assert last.performative == Begin(0, 0, 1, 1)
    (breach,) = client.context.breaches
    assert breach.rule == f"1-0/{rule}"
    assert breach.what.startswith(what)


def test_of_a_broken_open_the_rest_counts() -> None:
    opening = OPEN.replace(channel_max=Raw(b"\xa1\1x"), max_frame_size=100, idle_time_out=7)
    client, _, _ = link(octets(opening))
    client.next(CONNECTION, 1.0)
    assert client.partner == OPEN.replace(max_frame_size=512, idle_time_out=7)


def test_a_stream_that_ends_within_a_frame_is_unreadable() -> None:
    client, _, _ = link(octets(OPEN)[:-1], StreamEnd.FIN)
    assert client.next(CONNECTION, 1.0) == Unreadable("the connection ended within a frame")
    assert client.next(CONNECTION, 1.0) == Closed(StreamEnd.FIN)


@pytest.mark.parametrize("end", list(StreamEnd))
def test_fin_rst_and_silence_are_told_apart(end: StreamEnd) -> None:
    assert link(end)[0].next(CONNECTION, 1.0) == Closed(end)
    assert link()[0].next(CONNECTION, 1.5) == Silence(1.5)


def test_a_peer_that_talks_about_something_else_holds_us_no_longer_than_it_talks() -> None:
    client, _, _ = link(*([begin(7, 7)] * 5000))
    assert isinstance(client.next(1, 1.0), Silence)


# -- what is sent --------------------------------------------------------------------------------------


def test_everything_goes_in_one_write_and_is_kept_piece_by_piece() -> None:
    client, kept, script = link()
    client.send(PROTOCOL_HEADER, OPEN, Begin(None, 0, 1, 1), RawFrame(size=99), channel=0)
    assert len(script.sent) == 1
    units = [event.says for event in kept.events if isinstance(event, Octets)]
    assert [each.split()[0] for each in units] == ["protocol", "open", "begin", "8"]
    assert len([each for each in client.transcript if each.direction is Direction.SENT]) == 3


def test_octets_can_be_sent_one_by_one_and_are_kept_as_one_unit() -> None:
    client, kept, script = link()
    client.send(OPEN, by=1)
    assert b"".join(script.sent) == octets(OPEN)
    assert set(map(len, script.sent)) == {1}
    assert len([event for event in kept.events if isinstance(event, Octets)]) == 1
    assert client.said_open == OPEN


def test_what_we_said_is_known_in_whatever_form_it_went_out() -> None:
    client, _, _ = link()
    client.send(octets(OPEN)[:5])
    assert client.said_open is None
    client.send(octets(OPEN)[5:], amqp_frame(3, Begin(None, 0, 1, 1)))
    told: tuple[object, ...] = (client.said_open, client.channels, client.spoiled)
    assert told == (OPEN, {3}, True)
    client.send(RawFrame(size=4), Close())
    assert not client.said_close  # behind what is no frame nothing is one
    client.send(RawFrame(Close().encode(), 2, extended=bytes(4)))
    assert client.said_close


def test_a_sasl_performative_goes_in_its_own_frame_and_its_credentials_nowhere() -> None:
    client, kept, script = link(sasl_frame(SaslInit("PLAIN", b"\0u\0s3cret")).encode())
    client.send(SASL_HEADER, SaslInit("PLAIN", b"\0u\0s3cret"), channel=4)
    assert script.sent[0][8 + 5] == 1
    client.next(CONNECTION, 1.0)
    units = [event for event in kept.events if isinstance(event, Octets)]
    assert len(units) == 3
    assert all(b"s3cret" not in event.octets and "s3cret" not in event.says for event in units)


def test_credentials_in_what_is_malformed_reach_no_event_either() -> None:
    client, kept, _ = link()
    spelt = sasl_frame(SaslInit("PLAIN", b"\0u\0s3cret")).encode()
    client.send(spelt[:20], spelt[20:])
    assert all(b"s3c" not in event.octets for event in kept.events if isinstance(event, Octets))


def test_a_heart_beats_only_while_somebody_waits_and_nothing_else_was_said() -> None:
    client, _, script = link()
    client.next(CONNECTION, 5.0)
    assert script.sent == []
    client.beat = 2.0
    client.send(OPEN)
    client.next(CONNECTION, 5.0)
    assert script.sent == [octets(OPEN), EMPTY, EMPTY]
    client.send(Close())
    client.next(CONNECTION, 5.0)
    assert script.sent[-1] == octets(Close())


@pytest.mark.parametrize(("came", "ended"), [(StreamEnd.FIN, True), (octets(Close()), False)])
def test_an_end_in_place_of_an_answer_is_told_apart(came: StreamEnd | bytes, ended: bool) -> None:
    client, _, _ = link(came)
    with pytest.raises(Unmet) as unmet:
        client.expect(CONNECTION, Open)
    assert unmet.value.ended is ended


def test_listening_gives_all_that_comes_in_a_time_with_its_time() -> None:
    client, _, script = link(EMPTY, EMPTY, octets(OPEN), StreamEnd.FIN)
    heard = client.listen(4.0)
    assert [each.at for each in heard] == [0.001, 0.002, 0.003]
    assert client.ended is StreamEnd.FIN
    assert script.clock < 1.0
    assert link(patience=Patience())[0].listen(4.0) == []


def test_listening_is_paid_for() -> None:
    client, _, _ = link(patience=Patience(budget=3.0))
    with pytest.raises(OverBudget):
        client.listen(4.0)


def test_a_transport_that_cannot_half_close_makes_a_scenario_not_run() -> None:
    client, _, _ = link()
    with pytest.raises(NotRun):
        client.shut()
    with pytest.raises(NotRun):
        client.met_reset(1.0)


# -- what is expected ----------------------------------------------------------------------------------


def test_an_expected_close_is_not_answered_by_itself() -> None:
    client, kept, script = link(octets(DECODE) + EMPTY)
    client.expect(CONNECTION, *refused(Refusal.CONDITION, AmqpError.DECODE_ERROR))
    assert script.sent == []
    (decided,) = [event for event in kept.events if isinstance(event, Expected)]
    assert (decided.grade, decided.actual, decided.frame) == (Grade.PREFERRED, "close amqp:decode-error", 1)


@pytest.mark.parametrize(("end", "lost"), [(StreamEnd.FIN, False), (StreamEnd.RST, True)])
def test_only_a_reset_may_have_eaten_a_frame(end: StreamEnd, lost: bool) -> None:
    client, _, _ = link(end)
    with pytest.raises(Unmet) as unmet:
        client.expect(CONNECTION, closed())
    assert unmet.value.lost is lost


def test_passive_rules_look_when_the_connection_is_finished() -> None:
    client, kept, _ = link(octets(OPEN), octets(DECODE, 2))

    def on_zero(each: Framed) -> Found:
        return each.unit.channel == 0 or each.said.type_name

    client.context.watching = Watching([("1-0/a.rule", Fold(on_zero, came(Frame), Gaps.BEARS))])
    client.listen(1.0)
    client.finish()
    client.finish()
    (seen,) = [event for event in kept.events if isinstance(event, Seen)]
    assert (seen.occasions, seen.violations) == ({"1-0/a.rule": 2}, {"1-0/a.rule": ("close",)})
    assert [event.by for event in kept.events if isinstance(event, Ended)] == ["harness"]
