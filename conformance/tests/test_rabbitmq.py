"""The whole way on a real RabbitMQ: verdicts, capture, and nothing left behind however a run ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from conformance.engine.leftovers import declared
from conformance.engine.passive import sighted
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import Judged
from conformance.evidence.results import however_ended, rule_results
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline_file import load
from conformance.gate.tests.baselines import path_of, rules_of
from conformance.tests.again import beyond, ends_well, still
from conformance.tests.commands import Command, command, command_line, environment
from conformance.tests.endurance import some
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Observation, Received
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import (
    PRECONDITION_FAILED,
    RESOURCE_LOCKED,
    Channel,
    Exchange,
    Queue,
)
from harness.play.context import Context
from harness.targets.target import Target
from harness.wire.journal import Unkept
from scenarios.registry import checks

pytestmark = [pytest.mark.broker("rabbitmq"), pytest.mark.minutes]

STRANGE = beyond("rabbitmq-3.10", "process-rabbitmq")


def verdicts(run: Path) -> dict[str, tuple[Verdict, str]]:
    """Give what each rule came to, not how a stream ended: that depends on what had been read by then."""
    return {
        result.rule: (result.verdict, however_ended(result.signature)) for result in rule_results(read(run))
    }


def agree(alone: tuple[Verdict, str], beside: tuple[Verdict, str]) -> bool:
    """Say whether a rule came to the same: beside others it is judged again, and may hear what is late."""
    silence, due = "silence", " instead of "
    same = alone[1] == beside[1]
    late = alone[1].partition(due) == (silence, due, beside[1].partition(due)[2])
    return alone[0] is beside[0] and (same or late)


def url(target: Target) -> str:
    return target.endpoint().url(with_password=True)


def broker_of(target: Target) -> Broker:
    return Broker(lambda: target.connect("0-9-1"), target.endpoint(), Context(Unkept(), "look"), "0-9-1")


def asks_for_nothing(rule: str) -> bool:
    """Say whether a rule, or what gives a watched one its occasion, is judged without a facility."""
    during = {watch.during for watch in checks().watches.get(rule, ())}
    return not any(each.needs for name in (rule, *during) for each in checks().scenarios.get(name, ()))


def broke_in_passing(run: Path, rules: Sequence[str]) -> set[str]:
    """Name rules whose scenarios showed these to be broken: what a watch finds rests on what is played."""
    lines = list(read(run))
    about = {line.event.test: line.event.rule for line in lines if isinstance(line.event, Judged)}
    seen = sighted(lines)
    # Three of each: one of them may need a facility.
    broken = [[each.test for each in seen.get(rule, ()) if each.violations][:3] for rule in rules]
    return {about[test] for tests in broken for test in tests if test in about}


NAMES = 1000
"""Names that one connection looks for: each takes a channel, of which RabbitMQ has 2047."""


def surviving(target: Target, run: Path) -> list[str]:
    """Say which of the names a run has kept exist on the target."""
    kept = declared(read(run)).get("0-9-1", [])
    found = []
    for start in range(0, len(kept), NAMES):
        broker = broker_of(target)
        found += [name for kind, name in kept[start : start + NAMES] if exists(broker, kind, name)]
        broker.hang_up()
    return found


def answer(broker: Broker, declaration: Method) -> Observation:
    """Declare a queue, or an exchange, on a channel of its own, and give what is answered."""
    channel = broker.channel()
    channel.send(declaration)
    seen = channel.connection.link.next(channel.number, 5.0)
    channel.connection.link.acknowledge_close(seen)
    return seen


def exists(broker: Broker, kind: str, name: str) -> bool:
    """Say whether a queue, or an exchange, is there."""
    passive = Queue.Declare(name, passive=True) if kind == "queue" else Exchange.Declare(name, passive=True)
    seen = answer(broker, passive)
    return not (isinstance(seen, Received) and isinstance(seen.method, Channel.Close))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rabbitmq") / "run"
    done = command(
        "run", "--target", "process:rabbitmq", "--baseline", path_of("rabbitmq-3.10"),
        "--capture", "all", "--budget", "1500", "--output", folder,
        env=environment(), timeout=1800,
    )  # fmt: skip
    ends_well(done, folder, STRANGE)
    return folder


def test_every_rule_has_a_verdict_and_an_error_is_strange(run: Path) -> None:
    found = verdicts(run)
    assert found.keys() == rules_of("0-9-1", "1-0", "rabbitmq", version=read_run(run).version)
    # No baseline takes an error; whether one comes again is tried where all that is strange is judged again.
    assert {rule for rule, each in found.items() if each[0] is Verdict.ERROR} <= STRANGE(run).keys()
    assert verify(run).state is State.OK
    assert read_run(run).product == "RabbitMQ"


def test_every_finding_is_in_the_baseline(run: Path) -> None:
    assert still(run, STRANGE) == {}


def test_the_broker_was_restarted_once(run: Path) -> None:
    assert [line.kind for line in read(run)].count("target-restarted") == 1
    assert verdicts(run)["0-9-1/queue.declare.durable.persistence"][0] is Verdict.PASS


@pytest.mark.endurance
def test_one_by_one_in_another_order_the_verdicts_are_the_same_and_nothing_is_left(
    run: Path, rabbitmq: Target, amqp_conformance: Command, tmp_path: Path
) -> None:
    alone, at = tmp_path / "run", url(rabbitmq)
    before = verdicts(run)
    asked = some([rule for rule in sorted(before) if asks_for_nothing(rule)], 100)
    asked += sorted(broke_in_passing(run, asked) - set(asked))
    amqp_conformance(
        "run", *asked, "--target", at, "--disruptive", "--output", alone,
        "--parallel", "0", "--shuffle", "3", "--budget", "1800",
    )  # fmt: skip
    # A URL has no facilities: what needs one is not-run. What is only watched may have had its occasion in
    # rules that are not played here. All else is as before, but for what the baseline knows to alternate.
    unseen = (Verdict.INAPPLICABLE, "no occasion")
    found = {rule: each for rule, each in verdicts(alone).items() if each != unseen or before[rule] == unseen}
    other = {rule: each for rule, each in found.items() if each[0] is not Verdict.NOT_RUN}
    alternating = {each.rule: each.verdicts for each in load(path_of("rabbitmq-3.10")).flaky}
    assert {
        rule: (each, before[rule])
        for rule, each in other.items()
        if not (each[0] in alternating.get(rule, ()) or agree(each, before[rule]))
    } == {}
    assert len(other) > 0.9 * len(asked)
    left_out = [
        each.deciding for each in rule_results(read(alone)) if each.rule in found.keys() - other.keys()
    ]
    assert [each.test for each in left_out if "the target has no facility" not in each.detail] == []
    assert surviving(rabbitmq, alone) == []


def test_the_password_is_nowhere_in_the_run(
    rabbitmq: Target, amqp_conformance: Command, tmp_path: Path
) -> None:
    made = rabbitmq.use("restricted-user")
    endpoint = rabbitmq.endpoint()
    secret = made["password"]
    address = f"amqp://{made['user']}:{secret}@{endpoint.host}:{endpoint.port}"
    amqp_conformance("run", "channel.open.state", "--target", address, "--output", tmp_path / "run")
    forms = (secret.encode(), secret.encode().hex().encode())
    user = made["user"].encode()
    for path in (tmp_path / "run").rglob("*"):
        if path.is_dir():
            continue
        content = path.read_bytes().replace(user, b"").replace(user.hex().encode(), b"")
        assert not any(form in content for form in forms), path.name


def test_wireshark_reads_every_packet(run: Path) -> None:
    if shutil.which("tshark") is None:
        if os.environ.get("AMQP_CONFORMANCE_REQUIRE_BROKERS"):
            pytest.fail("tshark is not installed")
        pytest.skip("tshark is not installed")
    shown = subprocess.run(
        [
            "tshark", "-2", "-r", str(run / "capture.pcapng"), "-Y", "tcp.len > 0", "-T", "fields",
            "-e", "_ws.col.Protocol", "-e", "_ws.malformed", "-e", "frame.comment",
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    packets = [line.split("\t") for line in shown.stdout.splitlines()]
    assert len(packets) > 500
    odd = [comment for protocol, malformed, comment in packets if protocol != "AMQP" or malformed]
    # Only what we malform on purpose is no AMQP, and what is too large to be kept whole. Of a message in
    # several transfers Wireshark reads each for itself, and misses the rest.
    parts = ("the evidence holds the first", " more=true")
    whole = [comment for comment in odd if not any(each in comment for each in parts)]
    assert all("; sent: " in comment for comment in whole), whole
    wrong = ("no frame", "not decodable")
    assert all(any(each in comment for each in wrong) for comment in whole if "rule 0-9-1/" in comment), whole


def started(target: Target, folder: Path, *more: str) -> subprocess.Popen[bytes]:
    # Rules that declare much and wait for little.
    rules = ("0-9-1/queue.*", "0-9-1/basic.*")
    return subprocess.Popen(
        command_line("run", *rules, "--target", url(target), "--output", folder, *more),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def until_declared(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    """Wait until the run has named `count` entities."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if sum(path.read_bytes().count(b'"event":"declared"') for path in folder.glob("events-*")) >= count:
            return
        time.sleep(0.005)
    pytest.fail("the run ended before it was to be interrupted")


def until_quiet(folder: Path) -> None:
    """Wait until the workers, whose controller is gone, have written nothing more for half a second."""
    deadline, size, since = time.monotonic() + 60, -1, time.monotonic()
    while time.monotonic() < min(deadline, since + 0.5):
        now = sum(path.stat().st_size for path in folder.glob("events-*"))
        if now != size:
            size, since = now, time.monotonic()
        time.sleep(0.02)


def is_there_now(broker: Broker, kind: str, name: str) -> bool:
    """Declare a queue, or an exchange, and say whether it is there.

    The run may have declared it otherwise: that is there, too. What is exclusive is so until the broker has
    noted that its connection is gone.
    """
    as_queue, as_exchange = Queue.Declare(name, durable=True), Exchange.Declare(name, "direct", durable=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        match answer(broker, as_queue if kind == "queue" else as_exchange):
            case Received(method=Queue.DeclareOk() | Exchange.DeclareOk()):
                return True
            case Received(method=Channel.Close() as refused) if refused.reply_code == RESOURCE_LOCKED:
                time.sleep(0.1)  # each answer takes a channel
            case Received(method=Channel.Close() as refused):
                return bool(refused.reply_code == PRECONDITION_FAILED)
            case _:
                return False
    return False


@pytest.fixture
def leftovers(rabbitmq: Target) -> Iterator[Broker]:
    broker = broker_of(rabbitmq)
    yield broker
    broker.hang_up()


@pytest.mark.parametrize(("workers", "count"), [("0", 4), ("0", 40), ("3", 10)])
def test_after_ctrl_c_nothing_is_left(rabbitmq: Target, tmp_path: Path, workers: str, count: int) -> None:
    process = started(rabbitmq, tmp_path / "run", "--parallel", workers)
    until_declared(process, tmp_path / "run", count)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 130, told.decode()
    assert verify(tmp_path / "run").state is State.PARTIAL
    assert surviving(rabbitmq, tmp_path / "run") == []


@pytest.mark.parametrize("count", [2, 30])
def test_after_kill_9_clean_leaves_nothing(
    rabbitmq: Target, amqp_conformance: Command, leftovers: Broker, tmp_path: Path, count: int
) -> None:
    process = started(rabbitmq, tmp_path / "run", "--parallel", "2")
    until_declared(process, tmp_path / "run", count)
    process.kill()
    process.communicate()
    assert verify(tmp_path / "run").state is State.PARTIAL
    until_quiet(tmp_path / "run")
    for kind, name in declared(read(tmp_path / "run"))["0-9-1"]:
        if name.startswith("amq."):
            continue  # reserved: it was named to be refused
        # Whatever the run had come to, now everything it named is there.
        assert is_there_now(leftovers, kind, name)
    leftovers.hang_up()
    assert surviving(rabbitmq, tmp_path / "run")
    refused = amqp_conformance("clean", tmp_path / "run")
    assert refused.returncode == 2
    assert "AMQP_PASSWORD" in refused.stderr
    cleaned = amqp_conformance("clean", tmp_path / "run", "--target", url(rabbitmq))
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    assert surviving(rabbitmq, tmp_path / "run") == []
