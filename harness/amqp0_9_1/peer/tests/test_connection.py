from typing import Any

import pytest

from harness.amqp0_9_1.peer.policy import Refusal
from harness.amqp0_9_1.peer.tests.dialogue import START_OK, Client, peer, raw
from harness.amqp0_9_1.wire.field_tables import As
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    PROTOCOL_HEADER,
    Frame,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import (
    COMMAND_INVALID,
    FRAME_ERROR,
    NOT_ALLOWED,
    SYNTAX_ERROR,
    Channel,
    Connection,
    Queue,
)
from harness.wire.units import Header

BEAT = Frame(HEARTBEAT, 0, b"")


def test_the_server_presents_itself() -> None:
    client = Client(peer(), opened=False)
    start = client.ask(PROTOCOL_HEADER)
    assert (start.version_major, start.version_minor) == (0, 9)
    assert {"host", "product", "version", "platform", "copyright", "information"} <= set(
        start.server_properties
    )
    assert b"PLAIN" in start.mechanisms.split()
    assert b"en_US" in start.locales.split()


def test_a_header_may_come_octet_by_octet_and_with_what_follows() -> None:
    client = Client(peer(), opened=False)
    for octet in PROTOCOL_HEADER[:-1]:
        client.send(bytes([octet]))
    start, tune = client.listen() or [], None
    client.send(PROTOCOL_HEADER[-1:] + method_frame(0, START_OK).encode())
    start, tune = client.listen()
    assert isinstance(start, Connection.Start)
    assert isinstance(tune, Connection.Tune)


@pytest.mark.parametrize(
    "octets", [b"HTTP", b"AMQP\x01", b"AMQP\0\x01\0\0", b"AMQP\0\0\x09\x02", b"\x01\0\0\0\0"]
)
def test_another_header_is_answered_with_ours(octets: Any) -> None:
    client = Client(peer(), opened=False)
    assert client.ask(octets) == Header(PROTOCOL_HEADER)
    assert client.ended() == "fin"


@pytest.mark.parametrize(
    "start_ok",
    [
        START_OK.replace(mechanism="NONE"),
        START_OK.replace(locale="xx_XX"),
        START_OK.replace(response=b"\0guest\0wrong"),
        START_OK.replace(response=b"\0nobody\0guest"),
        START_OK.replace(response=b"guest"),
        START_OK.replace(client_properties={"not legal": 1}),
        Connection.TuneOk(0, 0, 0),
        Connection.Open("/"),
        Queue.Declare("q"),
        raw(METHOD, 0, b"\0\x0a\0\x0b"),
        raw(METHOD, 0, b"\0\x0a\0\xff"),
        raw(9, 0),
        raw(METHOD, 0, b"x" * 4089),
        raw(HEARTBEAT, 1),
        raw(METHOD, 0, b"", end=b"\0"),
    ],
)
def test_what_is_wrong_before_open_ends_in_silence(start_ok: Any) -> None:
    client = Client(peer(), opened=False)
    client.ask(PROTOCOL_HEADER)
    assert client.is_silently_closed(start_ok)


def test_a_step_before_its_turn_may_be_passed_over() -> None:
    client = Client(peer(step_left_out="ignore"), opened=False)
    assert isinstance(client.ask(PROTOCOL_HEADER), Connection.Start)
    client.send(Connection.TuneOk(0, 4096, 0), Connection.Open("/"))
    assert client.listen() == []
    assert isinstance(client.ask(START_OK), Connection.Tune)
    client.send(Connection.TuneOk(0, 4096, 0))
    assert client.ask(Connection.Open("/")) == Connection.OpenOk()


def test_silence_may_last_before_the_close() -> None:
    client = Client(peer(silent_close_delay=3.0), opened=False)
    client.ask(PROTOCOL_HEADER)
    client.send(START_OK.replace(mechanism="NONE"), START_OK)
    assert client.ended() is None
    assert client.peer.next_timer() == 3.0
    client.peer.tick(3.0)
    assert client.ended() == "fin"
    assert client.listen() == []


def test_open_on_an_open_connection_by_policy() -> None:
    assert Client(peer()).is_refused(Connection.Open("/")) == (503, "connection")
    confirming = peer(open_again="confirm")
    assert Client(confirming).ask(Connection.Open("/")) == Connection.OpenOk()
    confirming.add_virtual_host("other")
    assert Client(confirming).is_refused(Connection.Open("other")) == (503, "connection")
    client = Client(peer(open_again="ignore"))
    client.send(Connection.Open("/"), Connection.Open("none"))
    assert client.listen() == []
    assert client.declare().queue == "q"


def test_plain_with_and_without_initial_response() -> None:
    policies: list[dict[str, Any]] = [{}, {"sasl": "secure"}]
    for policy in policies:
        client = Client(peer(**policy), opened=False)
        client.ask(PROTOCOL_HEADER)
        assert client.ask(START_OK.replace(response=b"")) == Connection.Secure(b"")
        assert isinstance(client.ask(Connection.SecureOk(b"\0guest\0guest")), Connection.Tune)
        client.send(Connection.TuneOk(0, 0, 0), BEAT)
        assert client.ask(Connection.Open("/")) == Connection.OpenOk()
        client = Client(peer(**policy), opened=False)
        client.ask(PROTOCOL_HEADER)
        client.ask(START_OK.replace(response=b""))
        assert client.is_silently_closed(Connection.SecureOk(b"\0guest\0wrong"))


def tuned(tune: Any, **choices: Any) -> Any:
    client = Client(peer(**choices), opened=False)
    client.ask(PROTOCOL_HEADER)
    client.ask(START_OK)
    client.send(tune)
    return client


def test_limits_are_negotiated_downwards_only() -> None:
    offer = Connection.Tune(2047, 131072, 60)
    client = Client(peer(), opened=False)
    client.ask(PROTOCOL_HEADER)
    assert client.ask(START_OK) == offer
    for tune in (
        Connection.TuneOk(2048, 131072, 0),
        Connection.TuneOk(2047, 131073, 0),
        Connection.TuneOk(2047, 4095, 0),
    ):
        assert tuned(tune).peer.closed == "fin"
    assert tuned(Connection.TuneOk(0, 0, 0)).peer.closed is None
    assert tuned(Connection.TuneOk(0, 0, 0), tune_zero="refuse").peer.closed == "fin"
    assert tuned(Connection.TuneOk(65535, 1 << 31, 0), frame_max=0, channel_max=0).peer.closed is None


def test_virtual_hosts_and_who_may_use_them() -> None:
    cases: list[tuple[dict[str, Any], int, int]] = [
        ({}, 402, 530),
        ({"no_virtual_host": Refusal(NOT_ALLOWED)}, 530, 530),
    ]
    for choices, unknown, forbidden in cases:
        server = peer(**choices)
        server.add_virtual_host("other")
        server.add_user("restricted", "secret", ["other"])
        restricted = START_OK.replace(response=b"\0restricted\0secret")
        Client(server, host="other", start_ok=restricted)
        asked = Client(server, opened=False)
        asked.ask(PROTOCOL_HEADER)
        asked.ask(restricted.replace(response=b""))
        asked.ask(Connection.SecureOk(restricted.response))
        asked.send(Connection.TuneOk(0, 0, 0))
        assert asked.is_refused(Connection.Open("/")) == (forbidden, "connection")
        for host, start_ok, code in (("none", START_OK, unknown), ("/", restricted, forbidden)):
            client = Client(server, opened=False)
            client.ask(PROTOCOL_HEADER)
            client.ask(start_ok)
            client.send(Connection.TuneOk(0, 0, 0))
            assert client.is_refused(Connection.Open(host)) == (code, "connection")
    client = tuned(Connection.TuneOk(0, 0, 0), no_virtual_host="silent")
    assert client.is_silently_closed(Connection.Open("none"))


def test_facilities_make_virtual_hosts_and_users() -> None:
    server = peer()
    host, user = server.use("second-vhost")["virtual_host"], server.use("restricted-user")
    Client(server, host=host).declare("q")
    client = Client(server, opened=False)
    client.ask(PROTOCOL_HEADER)
    client.ask(START_OK.replace(response=f"\0{user['user']}\0{user['password']}".encode()))
    client.send(Connection.TuneOk(0, 0, 0))
    assert client.is_refused(Connection.Open(host)) == (530, "connection")
    with pytest.raises(KeyError):
        server.use("no such facility")


def test_virtual_hosts_are_separate() -> None:
    server = peer()
    server.add_virtual_host("other")
    Client(server).declare("q")
    assert Client(server, host="other").count("q") is None


def test_close_is_answered_and_what_follows_it_is_not_served() -> None:
    server = peer()
    client = Client(server)
    client.send(method_frame(0, Connection.Close()).encode() + method_frame(1, Queue.Declare("q")).encode())
    assert client.hear() == Connection.CloseOk()
    assert client.ended() == "fin"
    assert Client(server).count("q") is None
    for client in (tuned(Connection.TuneOk(0, 0, 0)), Client(server)):
        assert client.ask(Connection.Close()) == Connection.CloseOk()
        assert client.ended() == "fin"


def test_the_socket_may_be_left_to_the_client() -> None:
    server = peer(linger=30.0)
    client = Client(server, tune=Connection.TuneOk(0, 0, 40))
    client.declare("mine", exclusive=True)
    assert client.ask(Connection.Close()) == Connection.CloseOk()
    assert Client(server).count("mine") is None
    client.send(Queue.Declare("q"), raw(9, 0))
    client.peer.tick(20.0)
    assert client.hear() == BEAT
    assert client.ended() is None
    client.peer.tick(30.0)
    assert client.ended() == "fin"


def test_while_closing_only_close_and_close_ok_are_heard() -> None:
    server = peer()
    client = Client(server)
    client.send(Connection.Open("/"))
    assert client.hear().reply_code == COMMAND_INVALID
    client.send(Queue.Declare("q"), BEAT, raw(HEARTBEAT, 5), raw(METHOD, 1, b"\0\0\0\0"), raw(HEADER, 0))
    assert client.listen() == []
    assert client.ask(Connection.Close()) == Connection.CloseOk()
    assert client.ended() is None
    client.send(Connection.CloseOk())
    assert client.ended() == "fin"
    assert Client(server).count("q") is None


def test_while_closing_garbage_and_waiting_end_it() -> None:
    client = Client(peer())
    client.ask(Connection.Open("/"))
    assert client.is_silently_closed(raw(9, 0))
    client = Client(peer(socket_close="rst"))
    client.ask(Connection.Open("/"))
    client.peer.tick(30.0)
    assert client.ended() == "rst"


@pytest.mark.parametrize(
    ("frame", "choices", "code"),
    [
        (raw(HEARTBEAT, 1), {}, 503),
        (raw(HEARTBEAT, 1), {"heartbeat_on_channel": FRAME_ERROR}, 501),
        (raw(HEARTBEAT, 0, b"x"), {}, 501),
        (raw(METHOD, 1, b"x" * 131065), {}, 501),
        (raw(9, 0), {"framing_error": Refusal(FRAME_ERROR)}, 501),
        (raw(BODY, 1, b"x", end=b"\0"), {"framing_error": Refusal(FRAME_ERROR)}, 501),
        (method_frame(1, Connection.Close()), {}, 503),
        (method_frame(7, Connection.CloseOk()), {}, 503),
        (method_frame(0, Channel.Open()), {}, 504),
        (method_frame(0, Channel.Open()), {"channel_zero": COMMAND_INVALID}, 503),
        (raw(HEADER, 0, b"\0\x3c"), {}, 504),
        (raw(BODY, 0, b"x"), {}, 504),
        (raw(METHOD, 0, b"\x03\xe7\0\x01"), {}, 540),
        (raw(METHOD, 0, b"\0\x0a\x03\xe7"), {}, 540),
        (raw(METHOD, 0, b""), {}, 540),
        (raw(METHOD, 0, b"\0\x0a\x03\xe7"), {"unknown_method": COMMAND_INVALID}, 503),
        (raw(METHOD, 0, Connection.Open("/").encode()[:-1]), {}, 501),
        (raw(METHOD, 0, Connection.Open("/").encode()[:-1]), {"undecodable": SYNTAX_ERROR}, 502),
        (method_frame(0, START_OK.replace(client_properties={"1st": 1})), {}, 502),
        (method_frame(0, START_OK.replace(client_properties={"a": As("A", [{"1st": 1}])})), {}, 502),
        (
            method_frame(0, START_OK.replace(client_properties={"1st": 1})),
            {"illegal_field_name": "accept"},
            503,
        ),
        (method_frame(0, Connection.Open("/")), {}, 503),
        (method_frame(0, Connection.StartOk()), {}, 503),
    ],
)
def test_what_is_wrong_with_frames_is_refused(frame: Any, choices: Any, code: Any) -> None:
    client = Client(peer(**choices))
    assert client.is_refused(frame) == (code, "connection")


@pytest.mark.parametrize(
    "frame", [raw(9, 0), raw(4, 0), raw(METHOD, 1, Queue.Declare("q").encode(), end=b"\0"), PROTOCOL_HEADER]
)
def test_what_is_no_frame_ends_in_silence(frame: Any) -> None:
    server = peer()
    assert Client(server).is_silently_closed(frame)
    assert Client(server).count("q") is None


def test_frames_before_tuning_may_have_the_minimum_size() -> None:
    client = Client(peer(), opened=False)
    client.ask(PROTOCOL_HEADER)
    bare = len(method_frame(0, START_OK.replace(client_properties={"a": ""})).encode())
    full = START_OK.replace(client_properties={"a": "x" * (4096 - bare)})
    assert len(method_frame(0, full).encode()) == 4096
    assert isinstance(client.ask(full), Connection.Tune)


def test_heartbeats_are_sent_and_missed() -> None:
    server = peer()
    client = Client(server, tune=Connection.TuneOk(0, 0, 10))
    client.declare("mine", exclusive=True)
    assert client.peer.next_timer() == 5.0
    client.peer.tick(5.0)
    assert client.hear() == BEAT
    client.send(BEAT)
    client.peer.tick(10.0)
    assert client.hear() == BEAT
    for now in (15.0, 20.0, 25.0):
        client.peer.tick(now)
        assert client.hear() == BEAT
    assert client.peer.next_timer() == 30.0
    client.peer.tick(30.0)
    assert client.listen() == []
    assert client.ended() == "fin"
    assert Client(server).count("mine") is None


def test_no_heartbeat_no_timer() -> None:
    client = Client(peer())
    assert client.peer.next_timer() is None
    client.send(BEAT)
    assert client.listen() == []
    client.peer.tick(1000.0)
    assert client.ended() is None


def test_hanging_up_ends_everything() -> None:
    server = peer()
    client = Client(server)
    client.declare(exclusive=True)
    client.peer.hang_up()
    client.peer.hang_up()
    assert client.ended()
    assert client.peer.next_timer() is None
    assert Client(server).count() is None
