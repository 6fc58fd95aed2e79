"""The peer behind a real socket."""

import time
from typing import Any

import pytest

from harness.amqp0_9_1.peer import Peer, Policy
from harness.amqp0_9_1.peer.tests.dialogue import START_OK
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER, FrameReader, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Queue
from harness.peers.fakes import Echo, FakeServer
from harness.peers.serve import TcpPeer
from harness.wire.transport import End, TcpTransport, Unreachable


class Speaker:
    def __init__(self, served: Any) -> None:
        self.wire = TcpTransport("127.0.0.1", served.port, time.monotonic())
        self.reader = FrameReader(limit=1 << 30)
        self.heard: list[Any] = []

    def ask(self, octets: Any, answers: Any = 1) -> Any:
        assert self.wire.send(octets)
        while len(self.heard) < answers:
            received = self.wire.receive(self.wire.now() + 10)
            assert isinstance(received, bytes), received
            self.heard += [unit for _, unit in self.reader.feed(received)]
        heard, self.heard = self.heard[:answers], self.heard[answers:]
        return heard

    def open(self) -> Any:
        self.ask(PROTOCOL_HEADER)
        self.ask(method_frame(0, START_OK).encode())
        tuned = method_frame(0, Connection.TuneOk(0, 131072, 0)).encode()
        self.ask(tuned + method_frame(0, Connection.Open("/")).encode())
        self.ask(method_frame(1, Channel.Open()).encode())
        return self

    def end(self) -> Any:
        end = self.wire.receive(self.wire.now() + 10)
        self.wire.close()
        return end


def ask(speaker: Any, method: Any, channel: Any = 1) -> Any:
    return speaker.ask(method_frame(channel, method).encode())[0].method()


@pytest.mark.parametrize("latency", [0.0, 0.002])
def test_a_dialogue_over_tcp(latency: Any) -> None:
    with TcpPeer(Peer(), latency) as served:
        one, other = Speaker(served).open(), Speaker(served).open()
        assert ask(one, Queue.Declare("q")) == Queue.DeclareOk("q", 0, 0)
        assert ask(other, Queue.Declare("q", passive=True)) == Queue.DeclareOk("q", 0, 0)
        assert ask(other, Basic.Get("q")) == Basic.GetEmpty()
        assert ask(one, Connection.Close(), 0) == Connection.CloseOk()
        assert one.end() is End.FIN
        other.wire.close()


def test_the_last_words_come_before_the_end() -> None:
    for end in (End.FIN, End.RST):
        with TcpPeer(Peer(Policy(socket_close="fin" if end is End.FIN else "rst"))) as served:
            speaker = Speaker(served)
            assert speaker.ask(b"HTTP/1.1 what is this" * 1000)[0].octets == PROTOCOL_HEADER
            assert speaker.end() is end


def test_timers_run_and_a_client_that_goes_is_noticed() -> None:
    with TcpPeer(Peer(Policy(silent_close_delay=0.01))) as served:
        speaker = Speaker(served)
        speaker.ask(PROTOCOL_HEADER)
        speaker.wire.send(method_frame(0, START_OK.replace(mechanism="NONE")).encode())
        assert speaker.end() is End.FIN
        owner = Speaker(served).open()
        ask(owner, Queue.Declare("mine", exclusive=True))
        owner.wire.close(reset=True)
        other = Speaker(served).open()
        # Locked until the peer has noticed that the owner is gone, missing from then on.
        codes: list[int] = []
        while codes[-1:] != [404] and len(codes) < 1000:
            codes.append(ask(other, Queue.Declare("mine", passive=True)).reply_code)
            other.wire.send(method_frame(1, Channel.CloseOk()).encode())
            assert ask(other, Channel.Open()) == Channel.OpenOk()
        assert set(codes) <= {405, 404}
        assert codes[-1] == 404
        other.wire.close()


class Patient(Echo):
    """Has a timer that runs for longer than the system can wait."""

    def next_timer(self) -> float | None:
        return time.monotonic() + 2.0**32


def test_a_timer_of_years_keeps_nobody_waiting() -> None:
    with TcpPeer(FakeServer(Patient)) as served:
        wire = TcpTransport("127.0.0.1", served.port, time.monotonic())
        wire.send(b"hello")
        assert wire.receive(wire.now() + 10) == b"hello"
        wire.close()


def test_restart_ends_connections() -> None:
    with TcpPeer(Peer()) as served:
        speaker = Speaker(served).open()
        assert set(served.use("second-vhost")) == {"virtual_host"}
        served.restart()
        assert speaker.end() is End.FIN
        Speaker(served).open().wire.close()
    with pytest.raises(Unreachable):
        TcpTransport("127.0.0.1", served.port, time.monotonic())


class Broken:
    def connect(self, now: Any) -> Any:
        raise ZeroDivisionError

    def use(self, facility: str) -> dict[str, str]:
        raise NotImplementedError

    def restart(self) -> None:
        raise NotImplementedError


def test_a_failure_of_the_peer_is_not_swallowed() -> None:
    def serve() -> None:
        with TcpPeer(Broken()) as served:
            speaker = Speaker(served)
            assert isinstance(speaker.end(), End)

    with pytest.raises(ZeroDivisionError):
        serve()
