"""Brokers as processes: descriptions read strictly, real brokers started, restarted, and gone afterwards."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pamqp import commands, frame

from harness import custody
from harness.custody import bearers, born, marks, sweep
from harness.description import descriptions, fill, parse
from harness.process import ProcessTarget, accepts, free_ports
from harness.target import TargetError
from harness.targets import attach, target

HEADER = b"AMQP\x00\x00\x09\x01"
START = b"\x01\x00\x00"  # a method frame on channel 0
BROKERS = [
    pytest.param("rabbitmq", marks=pytest.mark.broker("rabbitmq")),
    pytest.param("garagemq", marks=pytest.mark.broker("garagemq")),
]
LISTENER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    listener.accept()[0].close()
"""


def text_of(command: list[str], within: float = 20, facilities: str = "") -> str:
    """A description of one process on one port, run by `command`."""
    return f"""
product = "stub"
about = "a stub"
protocols = ["0-9-1"]
[endpoint]
port = "amqp"
user = "ann"
password = "word"
virtual_host = "/"
[process]
package = "stub"
requires = ["sh"]
version = ["echo", "1.2"]
ports = ["amqp"]
within = {within}
patience = 5
[[process.run]]
name = "broker"
command = {json.dumps(command)}
ready = "amqp"
{facilities}
"""


def stub(command: list[str], within: float = 20, facilities: str = "") -> ProcessTarget:
    """A target made from such a description."""
    return ProcessTarget("stub", parse(text_of(command, within, facilities), "stub.toml"))


def listener(facilities: str = "") -> ProcessTarget:
    """A target that accepts connections and says nothing."""
    return stub([sys.executable, "-c", LISTENER, "{port.amqp}"], facilities=facilities)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of its own for each test's target directories."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def answer(port: int) -> bytes:
    """What the peer on `port` says to the protocol header: one whole frame."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(HEADER)
        read = connection.makefile("rb")
        start = read.read(7)
        return start + read.read(int.from_bytes(start[3:7], "big") + 1)


class Client:
    """Just enough of a client to declare queues, made with another library than ours."""

    def __init__(
        self, endpoint_of: ProcessTarget, virtual_host: str = "/", login: str = "\0guest\0guest"
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", endpoint_of.endpoint().port), timeout=20)
        self._read = self._socket.makefile("rb")
        self._socket.sendall(HEADER)
        self._receive()
        self._send(0, commands.Connection.StartOk({}, "PLAIN", login, "en_US"))
        self._receive()
        self._send(0, commands.Connection.TuneOk(10, 8192, 0))
        self._send(0, commands.Connection.Open(virtual_host))
        self.opened = self._receive()

    def ask(self, request: frame.FrameTypes) -> str:
        """The name of the answer to a method on a new channel."""
        self._send(1, commands.Channel.Open())
        self._receive()
        self._send(1, request)
        return self._receive()

    def close(self) -> None:
        self._read.close()
        self._socket.close()

    def _send(self, channel: int, method: frame.FrameTypes) -> None:
        self._socket.sendall(frame.marshal(method, channel))

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


# -- descriptions --------------------------------------------------------------------------------------


def test_descriptions_come_with_the_suite() -> None:
    known = descriptions()
    assert list(known) == ["garagemq", "rabbitmq", "rabbitmq-tls"]
    assert known["rabbitmq-tls"].facilities == known["rabbitmq"].facilities
    assert set(known["garagemq"].facilities) == {"restart"}
    assert set(known["rabbitmq"].facilities) == {
        "restart",
        "second-vhost",
        "restricted-user",
        "memory-alarm",
        "lift-memory-alarm",
    }


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('user = "ann"', "", "endpoint: user is missing"),
        ('user = "ann"', "user = 1", "endpoint: user has the wrong type"),
        ('user = "ann"', 'user = "ann"\ncolour = "red"', "endpoint: colour is not a key"),
        ('user = "ann"', 'user = "ann"\ntls = { colour = "x" }', "endpoint: tls: colour is not a key"),
        ("within = 20", 'within = 20\nbefore = ["x"]', "before must be a list of lists of strings"),
        ("within = 20", "within = 20\nbefore = [[]]", "before must be a list of lists of strings"),
        ("within = 20", "within = 0", "within must be more than 0"),
        ("within = 20", "within = true", "within has the wrong type"),
        ('requires = ["sh"]', "requires = [1]", "requires must be a list of strings"),
        ('ready = "amqp"', 'ready = "other"', "port other is used but not declared"),
        ('steps = [{ await = "amqp" }]', "steps = [{ jump = 1 }]", "has jump where one of run, await"),
        ('steps = [{ await = "amqp" }]', 'steps = [{ stop = "x" }]', "process x is used but not declared"),
        ('steps = [{ await = "amqp" }]', "steps = []", "steps are missing"),
        ('product = "stub"', "product", "stub.toml: "),
    ],
)
def test_a_wrong_description_gets_a_sentence(old: str, new: str, reason: str) -> None:
    text = text_of(["x"], facilities='[facilities.wait]\nsteps = [{ await = "amqp" }]')
    assert text.count(old) == 1
    parse(text, "stub.toml")
    with pytest.raises(TargetError, match=reason):
        parse(text.replace(old, new), "stub.toml")


def test_placeholders_are_filled_and_other_braces_left_alone() -> None:
    assert (
        fill("{a}-{port.x} {127,0,0,1} ${Version}", {"a": "1", "port.x": "2"}) == "1-2 {127,0,0,1} ${Version}"
    )
    with pytest.raises(TargetError, match=r"placeholder \{b\}"):
        fill("{b}", {"a": "1"})


def test_a_missing_executable_gets_a_sentence(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(TargetError, match=r"epmd not found; the Debian package rabbitmq-server brings it"):
        target("process:rabbitmq").start()
    assert not list(temporary.iterdir())


# -- processes -----------------------------------------------------------------------------------------


def test_ports_are_free_and_different() -> None:
    ports = free_ports(("a", "b", "c"))
    assert len(set(ports.values())) == 3
    assert not any(accepts(port) for port in ports.values())


def test_stop_leaves_nothing_but_the_logs(temporary: Path) -> None:
    one = listener()
    one.start()
    one.start()
    (directory,) = temporary.iterdir()
    assert accepts(one.endpoint().port)
    assert len(bearers(directory)) == 1
    one.stop()
    one.stop()
    assert not bearers(directory)
    assert not list(temporary.iterdir())
    assert one.logs() == {"broker.log": b"listening\n"}
    with pytest.raises(TargetError, match="is not running"):
        one.endpoint()


def test_a_process_that_ends_at_once_is_reported_with_its_last_words(temporary: Path) -> None:
    one = stub(["sh", "-c", "echo first; echo no such colour >&2; exit 3"])
    with pytest.raises(TargetError, match="broker ended with status 3 before it listened: no such colour"):
        one.start()
    assert not list(temporary.iterdir())


def test_a_process_that_never_listens_is_reported_and_ended(temporary: Path) -> None:
    one = stub(["sleep", "600"], within=0.05)
    with pytest.raises(TargetError, match=r"nothing listened on port 'amqp' within 0.05 s"):
        one.start()
    assert not list(temporary.iterdir())


def test_a_command_that_cannot_be_run_is_reported(temporary: Path) -> None:
    one = stub(["/nonsense"])
    with pytest.raises(TargetError, match="broker could not be run: No such file"):
        one.start()
    assert not list(temporary.iterdir())


FACILITIES = """
[facilities.make]
arguments = { name = "thing-{unique}" }
steps = [{ run = ["sh", "-c", "test {name} != bad || { echo it is bad; exit 4; }"] }]
returns = { made = "{name}", by = "{user}" }
[facilities.restart]
steps = [{ stop = "broker" }, { start = "broker" }]
"""


def test_facilities_take_arguments_and_return_what_they_made() -> None:
    one = listener(FACILITIES)
    one.start()
    try:
        assert one.use("make", "it") == {"made": "it", "by": "ann"}
        assert one.use("make")["made"] != one.use("make")["made"]
        with pytest.raises(TargetError, match=r"'make' failed: sh ended with status 4: it is bad"):
            one.use("make", "bad")
        with pytest.raises(TargetError, match="takes fewer arguments: name"):
            one.use("make", "a", "b")
        with pytest.raises(TargetError, match="no facility 'fly'"):
            one.use("fly")
    finally:
        one.stop()


def test_what_attached_restarts_the_owner_still_ends(temporary: Path) -> None:
    one, other = listener(FACILITIES), listener(FACILITIES)
    one.start()
    try:
        (directory,) = temporary.iterdir()
        other.attach(directory, one.attachment()["ports"])
        before = bearers(directory)
        other.use("restart")
        assert bearers(directory) != before
        assert other.endpoint() == one.endpoint()
        other.stop()
        assert accepts(one.endpoint().port)
    finally:
        one.stop()
    assert not bearers(directory)


OWNER = """
import sys
from harness.tests import test_process
one = test_process.listener()
one.start()
print(one.attachment()["directory"], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_guard_clears_up_after_an_owner_that_is_killed(number: signal.Signals, temporary: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(Path(custody.__file__).parent.parent)},
        text=True,
    )
    assert owner.stdout is not None
    directory = Path(owner.stdout.readline().strip())
    assert directory.parent == temporary
    assert len(bearers(directory)) == 1
    owner.send_signal(number)
    owner.communicate()
    deadline = time.monotonic() + 20
    while directory.exists() and time.monotonic() < deadline:
        os.sched_yield()  # the guard is a process of its own and nobody's child
    assert not directory.exists()
    assert not bearers(directory)


def test_the_next_start_sweeps_what_a_dead_owner_left(temporary: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = temporary / f"amqp-conformance-{gone.pid}-1-x"
    mine = temporary / f"amqp-conformance-{os.getpid()}-{born(os.getpid())}-x"
    foreign = temporary / "amqp-conformance-notes-of-somebody"
    for directory in (left, mine, foreign):
        directory.mkdir()
    process = subprocess.Popen(["sleep", "600"], env=os.environ | marks(left, "broker"))
    while not bearers(left):
        os.sched_yield()  # for a moment after its start a process shows no environment yet
    sweep()
    assert process.wait(20) == -signal.SIGKILL
    assert not left.exists()
    assert mine.exists()
    assert foreign.exists()


# -- real brokers --------------------------------------------------------------------------------------


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
    attach(started.attachment()).use("restart")
    assert started.endpoint().port == port
    assert asked(started, commands.Queue.Declare(queue="kept", passive=True)) == "Queue.DeclareOk"
    assert asked(started, commands.Queue.Declare(queue="lost", passive=True)) == "Channel.Close"
    (directory,) = temporary.iterdir()
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


def logged(one: ProcessTarget, words: bytes) -> bool:
    """Whether the broker's log says so; it is written a moment after the command has returned."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if words in one.logs()["broker.log"]:
            return True
        os.sched_yield()
    return False


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
