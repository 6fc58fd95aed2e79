"""Words for what is wrong with contents and heartbeats, and the interposers made of them."""

from __future__ import annotations

from collections.abc import Callable

from harness.amqp0_9_1.broken.content_faults import (
    amid_a_frame,
    bare,
    body_of,
    delivers,
    gives_up_when,
    header_of,
    header_with,
    heads,
)
from harness.amqp0_9_1.broken.deviations import (
    Fault,
    Interposer,
    adds,
    changes,
    objects,
    overlooks_frame_ends,
)
from harness.amqp0_9_1.broken.footprint import units
from harness.amqp0_9_1.peer import TABLES, Peer
from harness.amqp0_9_1.trials.odd import OPENING
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    PROTOCOL_HEADER,
    ContentHeader,
    Frame,
    FrameReader,
    RawFrame,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, Basic, Channel, Connection, Queue
from harness.dialect import dialect
from harness.peers.footprint import used
from harness.peers.peer import PeerConnection, PeerServer
from harness.wire.journal import Direction, Octets

PROPERTIES = Basic.Properties(app_id="app", headers={"a": 1})
CONTENT = content_frames(1, Basic.Publish("", "q"), PROPERTIES, b"body", 4096)
ASKED = (
    method_frame(1, Queue.Declare("q")),
    *CONTENT,
    method_frame(1, Basic.Get("q", no_ack=True)),
)


def opened(server: PeerServer, heartbeat: int = 0) -> PeerConnection:
    """A connection with channel 1 open."""
    connection = server.connect(0.0)
    connection.receive(PROTOCOL_HEADER)
    for method in OPENING:
        agreed = method.replace(heartbeat=heartbeat) if isinstance(method, Connection.TuneOk) else method
        connection.receive(method_frame(0, agreed).encode())
    connection.receive(method_frame(1, Channel.Open()).encode())
    connection.take()
    return connection


def said(interposer: Interposer, *frames: Frame | RawFrame) -> list[Frame]:
    """What a client hears of a peer behind the interposer for these frames."""
    connection = opened(interposer.before(Peer()))
    for frame in frames:
        connection.receive(frame.encode())
    return [unit for _, unit in FrameReader().feed(connection.take()) if isinstance(unit, Frame)]


def delivered(interposer: Interposer) -> list[Frame]:
    """The frames of the message that Get brings."""
    return [each for each in said(interposer, *ASKED) if each.type in (HEADER, BODY)]


def test_properties_are_changed_where_they_are_present() -> None:
    header, body = delivered(delivers(app_id=lambda name: name.upper()))
    assert header.content_header().properties == Basic.Properties(app_id="APP", headers={"a": 1})
    assert body.payload == b"body"
    (header, _) = delivered(delivers(app_id=None))
    assert header.content_header().properties == Basic.Properties(headers={"a": 1})
    (header, _) = delivered(delivers(app_id="other", type="other"))
    assert header.content_header().properties == PROPERTIES
    (header, _) = delivered(delivers(lambda _: False, app_id="other"))
    assert header.content_header().properties == PROPERTIES


def test_headers_are_found_by_what_is_in_them() -> None:
    header = Frame(HEADER, 1, ContentHeader(60, 4, PROPERTIES).encode())
    assert header_with(app_id=lambda name: name == "app")(header)
    assert not header_with(app_id=lambda name: name == "other")(header)
    assert not header_with(type=lambda _: True)(header)
    assert not header_with(app_id=lambda _: True)(Frame(HEADER, 1, header.payload[:-1]))
    assert [header_of(size)(header) for size in (4, 5)] == [True, False]
    assert [body_of(size)(Frame(BODY, 1, b"body")) for size in (4, 5)] == [True, False]


def test_other_octets_stand_in_the_header() -> None:
    header, _ = delivered(heads(4, lambda octets: b"\x00\x32" + octets[2:]))
    assert header.payload[:2] == b"\x00\x32"
    header, _ = delivered(heads(5, lambda octets: b"\x00\x32" + octets[2:]))
    assert header.payload[:2] == b"\x00\x3c"


def test_another_frame_follows() -> None:
    added = Frame(BODY, 1, b"more")
    assert delivered(adds(body_of(4), lambda _: added))[1:] == [Frame(BODY, 1, b"body"), added]


def test_frames_are_objected_to() -> None:
    (close,) = said(objects(lambda frame: frame.type == HEARTBEAT, FRAME_ERROR), Frame(HEARTBEAT, 0, b""))
    refusal = close.method()
    assert isinstance(refusal, Connection.Close)
    assert refusal.reply_code == FRAME_ERROR


LIES = RawFrame(METHOD, 1, Queue.Declare("q").encode(), end=b"\xcd")


def test_a_wrong_frame_end_is_overlooked() -> None:
    assert said(Interposer(), LIES) == []
    (ok,) = said(overlooks_frame_ends(), LIES)
    assert ok.method() == Queue.DeclareOk("q", 0, 0)
    both = overlooks_frame_ends() + changes_nothing()
    assert said(both, LIES) == [ok]


def changes_nothing() -> Interposer:
    """An interposer that lets everything pass."""
    return Interposer()


def test_only_an_exchange_with_octets_that_are_no_frame_is_touched_by_mending() -> None:
    def sent(octets: bytes) -> Octets:
        return Octets(0.0, "one", Direction.SENT, octets, "")

    assert dialect("0-9-1").proof.touches(overlooks_frame_ends(), used((), [sent(LIES.encode())], units))
    assert not dialect("0-9-1").proof.touches(
        overlooks_frame_ends(), used((), [sent(ASKED[0].encode())], units)
    )


# -- heartbeats ----------------------------------------------------------------------------------------

INTERVALS = 4


def lives(server: PeerServer, say: Callable[[PeerConnection, int], None]) -> bool:
    """Whether a connection with heartbeats of one second lives for some intervals."""
    connection = opened(server, heartbeat=1)
    for half in range(2 * INTERVALS):
        say(connection, half)
        connection.take()
        connection.tick((half + 1) / 2)
    return connection.closed is None


def a_heartbeat(connection: PeerConnection, _: int) -> None:
    connection.receive(Frame(HEARTBEAT, 0, b"").encode())


def a_method(connection: PeerConnection, _: int) -> None:
    connection.receive(method_frame(1, Basic.Qos()).encode())


def an_octet(connection: PeerConnection, half: int) -> None:
    connection.receive(ASKED[0].encode()[half : half + 1])


def nothing(_: PeerConnection, __: int) -> None:
    pass


def faulty(fault: Fault) -> Peer:
    return Peer(rows=fault.change(TABLES))


def test_every_octet_keeps_a_connection_alive_and_silence_does_not() -> None:
    assert [lives(Peer(), say) for say in (a_heartbeat, a_method, an_octet, nothing)] == [True] * 3 + [False]


def test_an_interposer_that_holds_octets_back_is_heard() -> None:
    assert lives(Interposer().before(Peer()), an_octet)
    assert not lives(Interposer().before(Peer()), nothing)


def test_who_is_deaf_gives_up() -> None:
    assert not lives(faulty(gives_up_when(lambda _: True)), a_method)
    assert lives(faulty(gives_up_when(lambda _: True)), a_heartbeat)
    assert not lives(faulty(gives_up_when(amid_a_frame)), an_octet)
    assert lives(faulty(gives_up_when(amid_a_frame)), a_method)


def test_who_takes_silence_lightly_does_not_stand_still() -> None:
    connection = opened(
        faulty(changes("heartbeat: two intervals of silence end the connection", next=None)), 1
    )
    for second in range(1, 7):
        connection.tick(float(second))
        due = connection.next_timer()
        assert due is not None
        assert due > second


def test_contents_of_one_method_alone_can_be_changed() -> None:
    def publication(key: str) -> list[Frame]:
        return list(content_frames(1, Basic.Publish("", key), PROPERTIES, b"body", 4096))

    frames = (
        method_frame(1, Queue.Declare("got")),
        method_frame(1, Queue.Declare("consumed")),
        method_frame(1, Basic.Consume("consumed", "tag", no_ack=True)),
        *publication("got"),
        method_frame(1, Basic.Get("got", no_ack=True)),
        *publication("consumed"),
    )
    for behind, left in ((Basic.Deliver, [True, False]), (Basic.GetOk, [False, True])):
        headers = [each for each in said(bare(behind), *frames) if each.type == HEADER]
        assert [each.content_header().properties == PROPERTIES for each in headers] == left
