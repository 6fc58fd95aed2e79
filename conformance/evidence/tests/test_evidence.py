"""What a run keeps: no password anywhere, no more than it must, and all it had when something was killed."""

import base64
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest

import conformance.engine.closing
from conformance.commands.cli import main
from conformance.commands.replay import clean_up
from conformance.engine.options import Options
from conformance.engine.plugin import heed_interrupts
from conformance.engine.worker import Worker
from conformance.evidence.keeping import CONNECTION_CAP, FRAME_CAP, EventWriter
from conformance.evidence.kinds import Judged
from conformance.evidence.stream import State, merge, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.render.tests.samples import ticking
from conformance.tests.commands import FORKED, Command, command_line, environment
from conformance.tests.endurance import some
from conformance.tests.test_rabbitmq import surviving, url
from harness.amqp0_9_1.peer import Peer
from harness.peers.serve import TcpPeer
from harness.targets.description import Facility, descriptions
from harness.targets.process import ProcessTarget
from harness.targets.target import Target
from harness.wire.journal import Direction, Octets, Opened
from spec.catalogue import catalogue
from spec.selection import select

USER = "somebody"
SECRET = "Tr0ub4dor&3 ä/%:@+xyzzy"
SUITE = Path(__file__).parents[2] / "suite"
RULES = ("0-9-1/connection.start.*", "0-9-1/channel.open.state", "0-9-1/queue.bind.exchange.default-exchange")


# -- credentials -----------------------------------------------------------------------------------------


def forms(secret: str) -> set[bytes]:
    """Say how a password could stand in a file: plain, quoted, in hexadecimal, in base64 at any offset."""
    octets = secret.encode()
    found = {octets, quote(secret, safe="").encode(), quote(secret).encode()}
    found |= {secret.encode("unicode_escape"), octets.split(b"\xc3")[0], octets[-9:]}
    found |= {octets.hex(separator).encode() for separator in " :"} | {octets.hex().encode()}
    found |= {each.upper() for each in found if each.replace(b" ", b"").replace(b":", b"").isalnum()}
    for offset in range(3):
        # What stands before and behind moves the sextets; those wholly of the password stay.
        within = octets[(3 - offset) % 3 :]
        whole = base64.b64encode(within[: len(within) // 3 * 3])
        found |= {whole, whole.translate(bytes.maketrans(b"+/", b"-_"))}
    return found


def leaks(secret: str, folder: Path, *told: str) -> list[str]:
    """Say where the password stands: names of files below `folder`, "output" for what was printed."""
    contents = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    contents |= {"output": "\n".join(told).encode()}
    return [name for name, content in contents.items() if any(form in content for form in forms(secret))]


def address(port: int, user: str = USER, secret: str = SECRET) -> str:
    return f"amqp://{user}:{quote(secret, safe='')}@127.0.0.1:{port}"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A reference peer that knows our user."""
    peer = Peer(users={USER: SECRET})
    with TcpPeer(peer) as served:
        yield served.port


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        quote(SECRET, safe=""),
        f"\0{USER}\0{SECRET}".encode().hex(),
        SECRET.encode().hex(" ").upper(),
        *(base64.b64encode(b"x" * offset + SECRET.encode() + b"y").decode() for offset in range(3)),
    ],
)
def test_the_search_finds_every_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_text(f"before{text}behind")
    assert leaks(SECRET, tmp_path) == ["deep/file"]
    assert leaks(SECRET, tmp_path / "none", text) == ["output"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN"])
@pytest.mark.parametrize("secret", [SECRET, f"{SECRET}!wrong"])
def test_the_password_is_nowhere_right_or_wrong(
    amqp_conformance: Command, port: int, tmp_path: Path, secret: str, mechanism: str
) -> None:
    goal = address(port, secret=secret)
    way = ("--target", goal, "--mechanism", mechanism, "--parallel", "0", "--output", tmp_path / "run")
    done = amqp_conformance("run", *RULES, *way)
    assert (tmp_path / "run" / "events.jsonl").stat().st_size > 500
    again = amqp_conformance("replay", tmp_path / "run", "0-9-1/channel.open.state", "--target", goal)
    cleaned = amqp_conformance("clean", tmp_path / "run", "--target", goal)
    told = (each for done in (done, again, cleaned) for each in (done.stdout, done.stderr))
    assert leaks(secret, tmp_path, *told) == []
    assert leaks(USER, tmp_path) != []  # it is a search that finds: the user is no secret


@pytest.mark.parametrize("secret", [SECRET, f"{SECRET}!wrong"])
@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_pytest_says_it_nowhere(port: int, tmp_path: Path, secret: str, workers: list[str]) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-vv", "-l", "-rA", "--tb=long", str(SUITE), *workers,
            *(f"--rules={rule}" for rule in RULES), f"--target={address(port, secret=secret)}",
            f"--output={tmp_path / 'run'}",
            f"--junitxml={tmp_path / 'j.xml'}", f"--alluredir={tmp_path / 'a'}",
        ],
        env=environment(), capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (tmp_path / "j.xml").exists(), done.stdout
    assert list((tmp_path / "a").iterdir())
    assert leaks(secret, tmp_path, done.stdout, done.stderr) == []


@pytest.mark.parametrize(
    "goal",
    [
        address(1),
        address(70000),
        address(5672).replace("amqp:", "ftp:"),
        address(5672) + "?query",
        address(5672) + "/a/b",
        address(5672).removeprefix("amqp://"),
        address(5672).replace("%20", " "),
        address(5672).replace("%20", "%2"),
    ],
)
def test_wrong_urls_are_not_quoted(amqp_conformance: Command, tmp_path: Path, goal: str) -> None:
    done = amqp_conformance("run", RULES[1], "--target", goal, "--parallel", "0", "--output", "run")
    assert done.returncode in (2, 3)
    assert leaks(SECRET, tmp_path, done.stdout, done.stderr) == []


@pytest.fixture(scope="module")
def granting() -> Iterator[ProcessTarget]:
    """A RabbitMQ whose facility "user" makes users with all rights."""
    described = descriptions()["rabbitmq"]
    steps = described.facilities["second-vhost"].steps[-1:]
    grant = tuple(
        (action, tuple({"{name}": "/", "{user}": "{account}"}.get(word, word) for word in words))
        for action, words in steps
    )
    facilities = {**described.facilities, "grant": Facility(grant, {"account": ""}, {})}
    with ProcessTarget("rabbitmq", replace(described, facilities=facilities)) as started:
        yield started


@pytest.mark.broker("rabbitmq")
@pytest.mark.parametrize("secret", [SECRET, f"{SECRET}!wrong"])
def test_before_rabbitmq_the_password_is_nowhere(
    granting: ProcessTarget, amqp_conformance: Command, tmp_path: Path, secret: str
) -> None:
    name = f"user-of-{tmp_path.name}"
    granting.use("restricted-user", name, SECRET)
    granting.use("grant", name)
    goal = address(granting.endpoint().port, name, secret)
    done = amqp_conformance("run", *RULES, "--target", goal, "--output", tmp_path / "run")
    assert done.returncode == (1 if secret == SECRET else 3), done.stdout
    assert leaks(secret, tmp_path, done.stdout, done.stderr) == []


# -- caps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "count"), [(1, 1), (FRAME_CAP + 1, 4000), (1 << 20, 64)])
def test_a_flood_does_not_make_the_evidence_explode(tmp_path: Path, size: int, count: int) -> None:
    """Of a connection at most so many octets are kept, whatever comes; of what is left out the hash."""
    with EventWriter(tmp_path, "main", ticking()) as writer:
        writer.write(Opened(0.0, "c", "127.0.0.1:5672", "0-9-1"))
        for _ in range(count):
            writer.write(Octets(0.0, "c", Direction.RECEIVED, b"x" * size, "content body"))
    merge(tmp_path)
    kept = [line.event for line in read(tmp_path) if isinstance(line.event, Octets)]
    assert len(kept) == count
    assert sum(len(each.octets) for each in kept) == min(size * count, FRAME_CAP * count, CONNECTION_CAP)
    envelope = 400  # octets of JSON around one event, its hash included
    written = (tmp_path / "events.jsonl").stat().st_size
    assert written < 2 * CONNECTION_CAP + envelope * (count + 2)


# -- what is killed --------------------------------------------------------------------------------------


def until(happened: Callable[[], bool], within: float = 30.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if happened():
            return True
        time.sleep(0.002)
    return False


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def written(folder: Path, worker: str = "*", kind: str = "") -> int:
    with contextlib.suppress(FileNotFoundError):  # the run has ended and removed its parts
        return sum(
            path.read_bytes().count(f'"event":"{kind}'.encode())
            for path in folder.glob(f"events-{worker}.jsonl")
        )
    return 0


def started(folder: Path, *way: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command_line("run", "--output", folder, *way),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def worker_of(process: "subprocess.Popen[bytes]", folder: Path, worker: str) -> int:
    """Give the process that writes a worker's events."""
    path = folder / f"events-{worker}.jsonl"

    def writes(pid: int) -> bool:
        with contextlib.suppress(OSError):
            return any(each.readlink() == path for each in Path(f"/proc/{pid}/fd").iterdir())
        return False

    (pid,) = (pid for pid in children(process.pid) if writes(pid))
    return pid


def test_an_interrupt_that_gets_lost_still_ends_the_run() -> None:
    worker = Worker(*cast(Any, (None, None, None)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        undo = heed_interrupts(worker.end)
        with contextlib.suppress(KeyboardInterrupt):  # as Python does in a destructor
            signal.raise_signal(signal.SIGINT)
        undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # the next run heeds its own
    finally:
        signal.signal(signal.SIGINT, before)
    assert worker.ending.cut == "interrupted"


@pytest.mark.parametrize(("at_once", "judge"), [("2", "gw1"), ("8", "gw1-0")])
def test_a_worker_that_is_killed_is_replaced_and_the_run_says_so(
    at_once: str, judge: str, tmp_path: Path
) -> None:
    folder = tmp_path.resolve() / "run"
    process = started(folder, "--target", "embedded:tcp", "--parallel", at_once, *MANY)
    assert until(lambda: written(folder, judge, "judged") >= 3)
    os.kill(worker_of(process, folder, judge), signal.SIGKILL)
    told = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 1, told
    assert "worker gw1 died" in told
    assert "Traceback" not in told
    assert verify(folder).state is State.PARTIAL
    lines = read(folder)
    assert len([line for line in lines if line.worker == judge and isinstance(line.event, Judged)]) >= 3
    times = Counter(line.event.test for line in lines if isinstance(line.event, Judged))
    assert set(times.values()) == {1}
    lost = [
        line.event
        for line in lines
        if isinstance(line.event, Judged) and line.event.verdict in (Verdict.NOT_RUN, Verdict.ERROR)
    ]
    assert [(each.verdict, "worker gw1 died" in each.detail) for each in lost] in (
        [],
        [(Verdict.NOT_RUN, True)],
    )


MOMENTS = random.Random(20).sample(range(1, 300), 20)
"""How many events have been written when the controller is killed."""
MANY = ("class:exchange", "class:queue")


def play(*arguments: str) -> None:
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    main(["run", *arguments])


def kill_when(happened: Callable[[], bool], folder: Path, *way: str) -> None:
    """Start a run, kill -9 its controller when something has happened, wait for its workers to go."""
    process = FORKED.Process(target=play, args=("--output", str(folder), *way))
    process.start()
    assert process.pid is not None
    assert until(lambda: happened() or not process.is_alive())
    left = [process.pid, *children(process.pid)]
    process.kill()
    process.join()
    assert until(lambda: not any(map(is_alive, left))), "workers outlive their controller"
    assert process.exitcode == -signal.SIGKILL, "the run ended before it was killed"


@pytest.mark.endurance
@pytest.mark.broker("rabbitmq")
def test_killed_at_any_moment_a_run_is_readable_and_cleaned_up(rabbitmq: Target, tmp_path: Path) -> None:
    goal = url(rabbitmq)
    left_behind = 0
    for number, moment in enumerate(some(MOMENTS, 6)):
        folder, workers = tmp_path / str(number), "2" if number % 5 == 0 else "0"
        many = ("--target", goal, "--parallel", workers, *MANY)
        kill_when(lambda folder=folder, moment=moment: written(folder) >= moment, folder, *many)  # type: ignore[misc]
        assert verify(folder).state is State.PARTIAL, moment
        assert read(folder)
        left_behind += len(surviving(rabbitmq, folder))
        assert clean_up(folder, goal, Options()) == 0
        assert surviving(rabbitmq, folder) == []
    assert left_behind > 0  # there was something to clean


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def play_until(step: str, *arguments: str) -> None:
    setattr(conformance.engine.closing, step, die)
    play(*arguments)


@pytest.mark.parametrize(
    ("step", "state"),
    [
        ("ended_event", State.PARTIAL),
        ("merge", State.PARTIAL),
        ("render_files", State.OK),
        ("write_capture", State.OK),
        ("seal", State.OK),
    ],
)
def test_killed_at_each_step_of_its_end_a_run_is_readable(tmp_path: Path, step: str, state: State) -> None:
    """From the last verdict to the sealing of the folder: the events stand, or the run is called partial."""
    folder = tmp_path / "run"
    process = FORKED.Process(target=play_until, args=(step, "class:tx", "--output", str(folder)))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert verify(folder).state is state
    judged = {line.event.rule for line in read(folder) if isinstance(line.event, Judged)}
    assert judged == {rule.id for rule in select(catalogue().rules, ["class:tx"])}
