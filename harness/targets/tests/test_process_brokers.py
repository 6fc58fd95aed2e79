"""Real brokers as processes: they serve, restart, stand side by side, and are gone afterwards."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pamqp import body, commands, frame, header

from harness.targets.custody import bearers
from harness.targets.named import attach, target
from harness.targets.process import ProcessTarget, accepts
from harness.targets.tests.processes import logged

pytestmark = pytest.mark.usefixtures("temporary")

HEADER = b"AMQP\x00\x00\x09\x01"
START = b"\x01\x00\x00"  # a method frame on channel 0
BROKERS = [
    pytest.param("rabbitmq", marks=pytest.mark.broker("rabbitmq")),
    pytest.param("garagemq", marks=pytest.mark.broker("garagemq")),
    pytest.param("broker-j", marks=pytest.mark.broker("broker-j")),
]


def answer(port: int) -> bytes:
    """Read what the peer on `port` says to the protocol header: one whole frame."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(HEADER)
        read = connection.makefile("rb")
        start = read.read(7)
        return start + read.read(int.from_bytes(start[3:7], "big") + 1)


class Client:
    """Just enough of a client to declare queues, made with another library than ours."""

    def __init__(
        self, endpoint_of: ProcessTarget, virtual_host: str = "/", login: str = "\0guest\0guest"
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", endpoint_of.endpoint().port), timeout=60)
        self._read = self._socket.makefile("rb")
        self._socket.sendall(HEADER)
        self._receive()
        self._send(0, commands.Connection.StartOk({}, "PLAIN", login, "en_US"))
        self._receive()
        self._send(0, commands.Connection.TuneOk(10, 8192, 0))
        self._send(0, commands.Connection.Open(virtual_host))
        self.opened = self._receive()

    def ask(self, request: frame.FrameTypes) -> str:
        """Send a method on a new channel, and name its answer."""
        self._send(1, commands.Channel.Open())
        self._receive()
        self._send(1, request)
        return self._receive()

    def publish(self, queue: str, content: bytes) -> None:
        """Publish a transient message on that channel."""
        transient = commands.Basic.Properties(delivery_mode=1)
        self._send(1, commands.Basic.Publish(routing_key=queue))
        self._send(1, header.ContentHeader(body_size=len(content), properties=transient))
        self._send(1, body.ContentBody(content))

    def close(self) -> None:
        self._read.close()
        self._socket.close()

    def _send(self, channel: int, part: frame.FrameTypes) -> None:
        self._socket.sendall(frame.marshal(part, channel))

    def _receive(self) -> str:
        start = self._read.read(7)
        octets = start + self._read.read(int.from_bytes(start[3:7], "big") + 1)
        return str(frame.unmarshal(octets)[2].name)


def opened(one: ProcessTarget, virtual_host: str, login: str) -> str:
    client = Client(one, virtual_host, login)
    client.close()
    return client.opened


def asked(one: ProcessTarget, request: frame.FrameTypes) -> str:
    client = Client(one)
    try:
        return client.ask(request)
    finally:
        client.close()


@pytest.fixture(params=BROKERS)
def started(request: pytest.FixtureRequest) -> Iterator[ProcessTarget]:
    one = target(f"process:{request.param}")
    assert isinstance(one, ProcessTarget)
    one.start()
    yield one
    one.stop()


def test_a_real_broker_serves_restarts_and_leaves_nothing(started: ProcessTarget, temporary: Path) -> None:
    port = started.endpoint().port
    first = answer(port)
    assert first.startswith(START)
    assert first.endswith(b"\xce")
    assert started.describe()["version"]
    assert asked(started, commands.Queue.Declare(queue="kept", durable=True)) == "Queue.DeclareOk"
    assert asked(started, commands.Queue.Declare(queue="lost")) == "Queue.DeclareOk"
    (directory,) = temporary.iterdir()
    before = bearers(directory, "broker")
    attach(started.attachment()).use("restart")
    assert before
    assert not set(before) & set(bearers(directory, "broker"))  # nothing it remembers has outlived it
    assert started.endpoint().port == port
    assert asked(started, commands.Queue.Declare(queue="kept", passive=True)) == "Queue.DeclareOk"
    assert asked(started, commands.Queue.Declare(queue="lost", passive=True)) == "Channel.Close"
    started.stop()
    assert not bearers(directory)
    assert not list(temporary.iterdir())
    assert not accepts(port)
    assert started.logs()["broker.log"]


@pytest.mark.broker("rabbitmq", "garagemq")
def test_brokers_run_side_by_side() -> None:
    targets = [target(f"process:{name}") for name in ("garagemq", "garagemq", "rabbitmq")]
    try:
        for one in targets:
            one.start()
        assert len({one.endpoint().port for one in targets}) == 3
        assert all(answer(one.endpoint().port).startswith(START) for one in targets)
        targets[0].stop()
        assert all(answer(one.endpoint().port).startswith(START) for one in targets[1:])
    finally:
        for one in targets:
            one.stop()


@pytest.mark.broker("rabbitmq")
def test_rabbitmq_offers_its_facilities() -> None:
    one = target("process:rabbitmq")
    assert isinstance(one, ProcessTarget)
    one.start()
    try:
        second = one.use("second-vhost")["virtual_host"]
        made = one.use("restricted-user")
        assert opened(one, second, "\0guest\0guest") == "Connection.OpenOk"
        assert opened(one, "/", f"\0{made['user']}\0{made['password']}") == "Connection.Close"
        one.use("memory-alarm")
        assert logged(one, b"memory resource limit alarm set")
        one.use("lift-memory-alarm")
        assert logged(one, b"memory resource limit alarm cleared")
    finally:
        one.stop()


def stored(directory: Path) -> set[int]:
    """Collect the numbers of the messages whose content is in some file of a broker."""
    texts = [path.read_bytes() for path in directory.rglob("*") if path.is_file()]
    return {int(number) for text in texts for number in re.findall(rb"message (\d+)!", text)}


@pytest.mark.parametrize("started", BROKERS[1:], indirect=True)
def test_a_queue_keeps_so_many_messages_in_memory_and_no_more(
    started: ProcessTarget, temporary: Path
) -> None:
    held = int(started.use("memory-alarm")["messages"])
    client = Client(started)
    assert client.ask(commands.Queue.Declare(queue="full", durable=True)) == "Queue.DeclareOk"
    for number in range(held + 50):
        client.publish("full", b"message %d!" % number)
    deadline = time.monotonic() + 60
    while held + 49 not in stored(temporary) and time.monotonic() < deadline:
        time.sleep(0.1)
    # A transient message has no other cause to be in a file. One of the brokers keeps one more than it says.
    assert stored(temporary) | {held} == set(range(held, held + 50))
    client.close()
