"""Interposers that act on frames as such, readable or not, and which exchanges they can touch."""

from __future__ import annotations

from harness.amqp0_9_1.broken.deviations import Interposer, mends, serves, spoils, swallows
from harness.amqp0_9_1.broken.footprint import units
from harness.amqp0_9_1.broken.frame_faults import sent_on, sent_whole, unknown, unreadable
from harness.amqp0_9_1.peer import Peer
from harness.amqp0_9_1.trials.odd import OPENING
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEADER, METHOD, PROTOCOL_HEADER, Frame, FrameReader, method_frame
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, Basic, Channel, Connection, Queue
from harness.dialect import dialect
from harness.peers.footprint import used
from harness.wire.journal import Direction, Octets

CUT = Frame(METHOD, 1, Queue.Declare("q").encode()[:-1])


def is_cut(frame: Frame) -> bool:
    return frame.payload == CUT.payload


def said(interposer: Interposer, *frames: Frame) -> list[Frame]:
    """What a client hears of a peer behind the interposer for these frames, once its channel is open."""
    connection = interposer.before(Peer()).connect(0.0)
    connection.receive(PROTOCOL_HEADER)
    for method in OPENING:
        connection.receive(method_frame(0, method).encode())
    connection.receive(method_frame(1, Channel.Open()).encode())
    connection.take()
    for frame in frames:
        connection.receive(frame.encode())
    return [unit for _, unit in FrameReader().feed(connection.take()) if isinstance(unit, Frame)]


def test_without_an_interposer_what_cannot_be_read_is_refused() -> None:
    (close,) = said(Interposer(), CUT)
    refusal = close.method()
    assert isinstance(refusal, Connection.Close)
    assert refusal.reply_code == FRAME_ERROR


def test_frames_are_swallowed() -> None:
    assert said(swallows(is_cut), CUT) == []
    (ok,) = said(swallows(is_cut), method_frame(1, Basic.Qos()))
    assert ok.method() == Basic.QosOk()


def test_frames_are_mended() -> None:
    whole = method_frame(1, Queue.Declare("q"))
    (ok,) = said(mends(is_cut, lambda _: whole), CUT)
    assert ok.method() == Queue.DeclareOk("q", 0, 0)


def test_frames_are_served() -> None:
    assert said(serves(is_cut, Queue.DeclareOk("served")), CUT) == [
        method_frame(1, Queue.DeclareOk("served"))
    ]


def test_frames_of_the_server_are_spoilt() -> None:
    def is_header(frame: Frame) -> bool:
        return frame.type == HEADER

    header = Frame(HEADER, 1, b"\x00\x3c" + bytes(12))
    asked = (
        method_frame(1, Queue.Declare("q")),
        method_frame(1, Basic.Publish("", "q")),
        header,
        method_frame(1, Basic.Get("q", no_ack=True)),
    )
    came = said(spoils(is_header, lambda frame: Frame(HEADER, frame.channel, b"spoilt")), *asked)
    assert came[-1] == Frame(HEADER, 1, b"spoilt")


def test_both_interposers_act_together() -> None:
    both = swallows(is_cut) + serves(lambda frame: frame == method_frame(1, Basic.Qos()), Channel.FlowOk())
    assert said(both, CUT, method_frame(1, Basic.Qos())) == [method_frame(1, Channel.FlowOk())]


def test_an_exchange_is_touched_by_what_finds_one_of_its_frames() -> None:
    event = Octets(0.0, "one", Direction.SENT, CUT.encode(), "")
    clean = used((), [event], units)
    assert not any(isinstance(each, Method) for each in clean.sent)
    assert dialect("0-9-1").proof.touches(swallows(is_cut), clean)
    assert not dialect("0-9-1").proof.touches(swallows(lambda frame: frame.channel == 2), clean)
    assert not dialect("0-9-1").proof.touches(spoils(is_cut, lambda frame: frame), clean)


def test_what_cannot_be_read_or_is_unknown_is_found() -> None:
    whole, nothing = method_frame(1, Queue.Declare("q")), Frame(METHOD, 1, b"\x00\x32\xff\xff")
    assert [unreadable(Queue.Declare)(each) for each in (CUT, whole, nothing)] == [True, False, False]
    assert not unreadable(Queue.Delete)(CUT)
    assert [unknown(50)(each) for each in (CUT, whole, nothing)] == [False, False, True]
    assert not unknown(60)(nothing)
    assert sent_on(Queue.Declare, lambda number: number == 1)(CUT)
    assert not sent_on(Queue.Declare, lambda number: number == 2)(CUT)
    assert not sent_on(Queue.Delete, lambda number: number == 1)(CUT)


def test_a_content_goes_with_its_method() -> None:
    header = Frame(HEADER, 1, b"")
    assert sent_whole(Basic.Publish, lambda number: number == 1)(header)
    assert not sent_whole(Basic.Publish, lambda number: number == 2)(header)
    assert not sent_whole(Basic.Get, lambda number: number == 1)(header)
