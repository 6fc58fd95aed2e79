"""Brokers as processes: started, restarted, asked for facilities, and gone afterwards, whoever is killed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.targets import custody
from harness.targets.custody import bearers, born, marks, sweep
from harness.targets.description import Fetched, parse
from harness.targets.named import attach, target
from harness.targets.process import ProcessTarget, accepts, free_ports
from harness.targets.sockets import connecting, tables_here
from harness.targets.target import TargetError
from harness.targets.tests.processes import LISTENER, listener, stub, text_of

pytestmark = pytest.mark.usefixtures("temporary")


def test_a_missing_executable_gets_a_sentence(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    one = target("process:rabbitmq")
    with pytest.raises(
        TargetError, match=r"epmd, openssl not found; the Debian package rabbitmq-server brings it"
    ):
        one.start()
    with pytest.raises(TargetError, match="is not running"):
        attach(one.attachment()).endpoint()  # the workers of a run that has lost its target
    assert not list(temporary.iterdir())


FETCHED = (
    'version = ["cat", "{fetched}/VERSION"]\nfetched = { name = "thing-1", by = "ci/brokers/fetch-thing" }'
)


def test_what_must_be_fetched_is_found_in_the_cache(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    monkeypatch.setenv("AMQP_CONFORMANCE_CACHE", str(temporary / "cache"))
    text = text_of(["sh", "-c", "cat {fetched}/VERSION; exit 1"])
    one = ProcessTarget("stub", parse(text.replace('version = ["echo", "1.2"]', FETCHED), "stub.toml"))
    with pytest.raises(
        TargetError, match="/cache/thing-1 is not there; run ci/brokers/fetch-thing to fetch it"
    ):
        one.start()
    (temporary / "cache" / "thing-1").mkdir(parents=True)
    (temporary / "cache" / "thing-1" / "VERSION").write_text("7.1\n")
    assert one.describe()["version"] == "7.1"
    with pytest.raises(TargetError, match=r"broker ended with status 1 before it was ready: 7\.1"):
        one.start()


@pytest.mark.parametrize("installed", [True, False])
def test_a_script_of_the_suite_is_named_by_its_place(
    monkeypatch: pytest.MonkeyPatch, temporary: Path, installed: bool
) -> None:
    suite = Path(__file__).parents[3]
    monkeypatch.chdir(temporary if installed else suite)
    told = Fetched("broker-j-10.1.0", "ci/brokers/fetch broker-j").command()
    assert told == (f"{suite}/ci/brokers/fetch broker-j" if installed else "ci/brokers/fetch broker-j")
    assert os.access(told.split()[0], os.X_OK)


def test_ports_are_free_and_different() -> None:
    ports = free_ports(("a", "b", "c"))
    assert len(set(ports.values())) == 3
    assert not any(accepts(port) for port in ports.values())


def test_files_may_lie_in_directories_of_their_own() -> None:
    described = text_of(["cat", "{directory}/etc/words"]).replace(
        "patience = 5", 'patience = 5\nfiles = { "etc/words" = "for {user}" }'
    )
    with pytest.raises(TargetError, match="before it was ready: for ann"):
        ProcessTarget("stub", parse(described, "stub.toml")).start()


def test_a_calm_start_leaves_out_what_only_rules_about_time_need() -> None:
    described = text_of(["cat", "{directory}/words"]).replace(
        "patience = 5", 'patience = 5\nfiles = { "words" = "beat = 1" }\ncalm = { "beat = 1" = "beat = 60" }'
    )
    for calm, said in ((False, "ready: beat = 1$"), (True, "ready: beat = 60")):
        target = ProcessTarget("stub", parse(described, "stub.toml"))
        if calm:
            target.calm()
        with pytest.raises(TargetError, match=said):
            target.start()


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
    with pytest.raises(TargetError, match="broker ended with status 3 before it was ready: no such colour"):
        one.start()
    assert not list(temporary.iterdir())


def test_a_process_that_never_listens_is_reported_and_ended(temporary: Path) -> None:
    one = stub(["sleep", "600"], within=0.05)
    with pytest.raises(TargetError, match=r"nothing listened on port 'amqp' within 0.05 s"):
        one.start()
    assert not list(temporary.iterdir())


READY = 'ready = "amqp"\nsays = "come in"'


def saying(words: str, within: float = 20) -> ProcessTarget:
    """Make a target that listens at once and says so, and then `words`."""
    program = LISTENER.replace("while True:", f"print({words!r}, flush=True)\nwhile True:")
    text = text_of([sys.executable, "-c", program, "{port.amqp}"], within).replace('ready = "amqp"', READY)
    return ProcessTarget("stub", parse(text, "stub.toml"))


def test_a_process_may_say_that_it_is_ready(temporary: Path) -> None:
    with saying("do come in") as one:
        assert one.logs()["broker.log"] == b"listening\ndo come in\n"


def test_a_process_that_listens_and_never_says_that_it_is_ready_is_reported(temporary: Path) -> None:
    with pytest.raises(TargetError, match=r"broker did not say 'come in' within 1 s"):
        saying("stay out", within=1).start()
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
[facilities.stock]
makes = 3
arguments = { name = "{unique}" }
steps = [{ run = ["sh", "-c", "test {makes} = 3 -a {name} != bad || exit 5"] }]
returns = { made = "{name}-{number}" }
[facilities.restart]
steps = [{ stop = "broker" }, { start = "broker" }]
[facilities.pause]
steps = [{ pause = "broker" }]
[facilities.resume]
steps = [{ resume = "broker" }]
[facilities.log]
steps = []
returns = { log = "{log}" }
[facilities.keep-alive]
steps = []
returns = { clients = "{clients}", kept-alive = "{kept-alive}" }
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
        batches = [one.use("stock")["made"].split("-") for _ in range(4)]
        assert [number for _, number in batches] == ["0", "1", "2", "0"]
        assert len({name for name, _ in batches}) == 2
        assert one.use("stock", "mine") == {"made": "mine-0"}
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


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_paused_process_gets_no_time_until_it_is_resumed(temporary: Path) -> None:
    with listener(FACILITIES) as one:
        (directory,) = temporary.iterdir()
        (pid,) = bearers(directory)
        one.use("pause")
        while state(pid) != "T":
            os.sched_yield()  # the signal is delivered when its turn comes
        assert accepts(one.endpoint().port)  # by the kernel, in its place
        one.use("resume")
        while state(pid) == "T":
            os.sched_yield()
        one.use("pause")
    assert not list(temporary.iterdir())


def test_a_process_that_goes_on_is_not_called_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    with listener(FACILITIES) as one:
        monkeypatch.setattr(custody, "LINGERING", 0.0)
        monkeypatch.setattr(custody, "_states", lambda _: iter("TR"))
        with pytest.raises(TargetError, match="broker was told to pause, and goes on"):
            one.use("pause")
        monkeypatch.undo()


def test_the_log_can_be_read_while_it_runs() -> None:
    with listener(FACILITIES) as one:
        assert one.use("log") == {"log": "listening\n"}


KEPT = LISTENER.replace(
    "listener.accept()[0].close()", "held = listener.accept()[0]; {}; print('in', flush=True)"
)


@pytest.mark.parametrize("on", [False, True])
def test_the_sockets_of_the_broker_are_seen(on: bool) -> None:
    set_it = f"held.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, {int(on)})"
    with stub([sys.executable, "-c", KEPT.format(set_it), "{port.amqp}"], facilities=FACILITIES) as one:
        with socket.create_connection(("127.0.0.1", one.endpoint().port)) as client:
            while one.use("log")["log"].count("in\n") < 2:  # the first was to see whether it listens
                os.sched_yield()
            port = str(client.getsockname()[1])
            seen = one.use("keep-alive")
        assert port in seen["clients"].split()
        assert (port in seen["kept-alive"].split()) is on


OWNER = """
import sys
from harness.targets.tests.processes import listener
one = listener()
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
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(Path(custody.__file__).parents[2])},
        text=True,
    )
    assert owner.stdout is not None
    directory = Path(owner.stdout.readline().strip())
    assert directory.parent == temporary
    assert len(bearers(directory)) == 1
    owner.send_signal(number)
    owner.communicate()
    deadline = time.monotonic() + 60
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


@pytest.mark.parametrize("on", [False, True])
def test_the_sockets_of_a_client_are_seen(on: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, int(on))
        client.connect(server.getsockname())
        assert list(connecting(server.getsockname()[1], tables_here())) == [on]
