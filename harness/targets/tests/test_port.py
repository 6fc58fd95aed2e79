"""What answers at a port: AMQP is left to the probes, all else gets its sentence; over real sockets."""

from collections.abc import Callable
from threading import Event

import pytest

from harness.peers.serve import TcpPeer
from harness.targets.embedded import EmbeddedTarget
from harness.targets.port import foreign
from harness.targets.target import UrlTarget
from harness.targets.tests.answering import server
from harness.wire.transport import Unreachable

HEADERS = {"AMQP 0-9-1": b"AMQP\x00\x00\x09\x01", "AMQP 1.0": b"AMQP\x03\x01\x00\x00"}
LONG = 30.0
"""Seconds that no test waits: whoever answers is believed at once."""
SHORT = 0.4
ALERT = b"\x15\x03\x01\x00\x02\x02\x0a"


def told(answer: Callable[[bytes], bytes | None], within: float, scheme: str = "amqp") -> str:
    """Give the sentence about a server, with PORT for its host and port."""
    with server(answer) as place:
        return foreign(UrlTarget(f"{scheme}://{place}"), HEADERS, within).replace(place, "PORT")


def only(opening: bytes, answer: bytes) -> Callable[[bytes], bytes]:
    """Answer what begins so; say nothing to all else."""
    return lambda said: answer if said.startswith(opening) else b""


BAD_REQUEST = b"HTTP/1.0 400 Bad Request\r\n\r\n"
WEB = (
    "PORT answers HTTP, not AMQP: 'HTTP/1.0 400 Bad Request';"
    " brokers listen at 5672 as a rule, with TLS at 5671"
)
SECURE = "PORT does not speak AMQP; it speaks TLS (amqps://): did you mean amqps://PORT?"
PLAIN = "PORT does not speak TLS but AMQP (a plain port is reached by amqp://): did you mean amqp://PORT?"
REDIS = "PORT answers the protocol of Redis, not AMQP: '-ERR unknown command'"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda _: BAD_REQUEST, WEB),
        (only(b"HEAD ", BAD_REQUEST), WEB),
        (lambda _: b"-ERR unknown command\r\n", REDIS),
        (lambda _: b"who are you?\nhm", "PORT answers text, not AMQP: 'who are you?'"),
        (lambda _: ALERT, SECURE),
        (only(b"\x16\x03", ALERT), SECURE),
    ],
)
def test_what_is_not_amqp_is_named(answer: Callable[[bytes], bytes | None], sentence: str) -> None:
    assert told(answer, LONG) == sentence


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda _: HEADERS["AMQP 0-9-1"], PLAIN),
        (lambda _: BAD_REQUEST, WEB),
        (lambda _: ALERT, ""),
    ],
)
def test_what_is_not_tls_is_named(answer: Callable[[bytes], bytes | None], sentence: str) -> None:
    assert told(answer, LONG, "amqps") == sentence


@pytest.mark.parametrize("scheme", ["amqp", "amqps"])
def test_silence_is_named_and_how_long_it_was(scheme: str) -> None:
    sentence = told(lambda _: b"", SHORT, scheme)
    tried = {"amqp": "the header of AMQP 0-9-1 and of AMQP 1.0", "amqps": "a TLS handshake"}[scheme]
    assert sentence == (
        f"PORT accepts connections and says nothing, in 0.4 s, to {tried}"
        " (--first-answer SECONDS waits longer)"
    )


def test_silence_is_not_told_while_this_side_is_busy() -> None:
    asked = Event()

    def busy() -> bool:
        asked.set()
        return True

    def late(said: bytes) -> bytes:
        assert asked.wait(LONG)
        return said if said.startswith(b"AMQP") else b""

    with server(late) as place:
        assert foreign(UrlTarget(f"amqp://{place}"), HEADERS, SHORT, busy) == ""


def test_so_is_a_port_that_hangs_up() -> None:
    assert told(lambda _: None, LONG) == (
        "PORT accepts connections and closes them without a word,"
        " whether to the header of AMQP 0-9-1 and of AMQP 1.0 or to HTTP"
    )


@pytest.mark.parametrize("header", HEADERS.values())
def test_one_protocol_of_ours_is_enough(header: bytes) -> None:
    assert told(only(header, header), LONG) == ""


def test_octets_that_may_be_a_broken_frame_are_left_to_the_rules() -> None:
    assert told(lambda _: b"\x01\x00\x00\x00\x00", LONG) == ""


def test_a_broker_is_recognised() -> None:
    with TcpPeer(EmbeddedTarget().make("0-9-1")) as peer:
        assert foreign(UrlTarget(f"amqp://127.0.0.1:{peer.port}"), HEADERS, LONG) == ""


def test_nobody_listens() -> None:
    with server(lambda _: b"") as place:
        pass
    with pytest.raises(Unreachable, match="cannot be reached: Connection refused"):
        foreign(UrlTarget(f"amqp://{place}"), HEADERS, LONG)


def test_what_fails_in_asking_is_raised_and_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> bytes:
        raise OSError("of a kind that nobody foresaw")

    goal = UrlTarget("amqp://127.0.0.1:1")
    monkeypatch.setattr(goal, "bare", fails)
    with pytest.raises(OSError, match="nobody foresaw"):
        foreign(goal, HEADERS, SHORT)
