"""Pointed at peers that mean harm: bounded time and memory, the right exit status, one clear sentence."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from conformance.engine.judge import Judge, TargetDied
from conformance.evidence.keeping import EventWriter
from conformance.evidence.kinds import Judged
from conformance.evidence.results import rule_results
from conformance.evidence.room import Room
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.tests.commands import Command, command, environment
from harness.amqp0_9_1.trials.hostile import HOSTILE, OPENED
from harness.dialect import dialect, documents
from harness.peers.peer import PeerServer
from harness.peers.serve import TcpPeer
from harness.play.context import Patience
from harness.targets.embedded import EmbeddedTarget
from harness.targets.target import Target
from harness.trials.hostile import Cutting, Died, Dying, Harming, Tls
from harness.wire.transport import End, MemoryTransport, Transport, Unreachable, VirtualClock
from scenarios.registry import checks
from spec.applicability import judged_with
from spec.catalogue import catalogue
from spec.rules import Role

DOCUMENT = "0-9-1"
RULES = [rule for rule in catalogue().rules if judged_with(rule.document) == DOCUMENT]
"""What a run is about against a peer that speaks this protocol alone."""
FAMILIES = {
    "handshake": "0-9-1/connection.start.protocol-name",
    "channel": "0-9-1/channel.open.state",
    "exchange": "0-9-1/exchange.declare.passive.not-found",
    "queue": "0-9-1/queue.bind.exchange.exchange-existence",
    "basic": "0-9-1/basic.publish.exchange.must-exist",
    "tx": "0-9-1/tx.commit.transacted",
    "passive": "0-9-1/domain.delivery-tag.non-zero",
    "restart": "0-9-1/queue.declare.durable.persistence",
}
"""One rule of every family of scenarios."""
HURRIED = Patience(answer=0.05, close=0.1, quiet=0.02, budget=0.06, leave=0.06)
BUDGET = 6
"""Seconds the runs of these tests may judge."""
WITHIN = 240
"""Seconds after which a run is taken for hanging: its budget, what leaving takes, and a busy machine."""

Tamper = Callable[[PeerServer], PeerServer]


def hostile(name: str, spared: int = 0, behind: bytes = b"", beside: bool = False) -> Tamper:
    return lambda honest: Harming(HOSTILE[name], honest, spared, behind, beside)


class Tampered(EmbeddedTarget):
    """A reference peer in memory that somebody has tampered with."""

    name = "tampered"

    def __init__(self, tamper: Tamper) -> None:
        super().__init__()
        self._tamper = tamper

    def peer(self, document: str) -> PeerServer:
        if document not in self._peers:
            self._peers[document] = self._tamper(dialect(document).proof.peer())
        return self._peers[document]


@contextmanager
def served(tamper: Tamper, latency: float = 0.0, document: str = DOCUMENT) -> Iterator[str]:
    """The URL of a tampered reference peer."""
    with suppress(Died), TcpPeer(tamper(dialect(document).proof.peer()), latency) as peer:
        yield f"amqp://guest:guest@127.0.0.1:{peer.port}"


# -- the probe alone, and every family in memory -----------------------------------------------------------


SAYS_START = "nested"
"""The hostile peer whose first words are a frame of ours that can be read in part: it is judged by that."""


@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - {SAYS_START}))
def test_the_probe_refuses_it_with_one_sentence(name: str) -> None:
    with pytest.raises(Unreachable) as refused:
        dialect(DOCUMENT).speaker.probe(Tampered(hostile(name)), within=5.0)
    sentence = str(refused.value)
    assert sentence.startswith("tampered does not open an AMQP 0-9-1 connection: ")
    assert sentence.isprintable()


def test_one_that_says_start_and_no_more_is_met_at_the_door() -> None:
    found = dialect(DOCUMENT).speaker.probe(Tampered(hostile(SAYS_START)), within=5.0)
    assert [each.what for each in found.breaches] == [
        "server-properties: a table is nested more than 64 deep; taken for an empty one"
    ]
    assert found.barrier is not None
    assert found.barrier.rule == found.breaches[0].rule
    assert "connection.start-ok was answered by silence" in found.barrier.what


CLOSE_OK = 12
"""Octets of the last frame of a probe: a peer that does not get that far has answered all the same."""


def said_in_a_handshake(document: str = DOCUMENT, close: int = CLOSE_OK) -> int:
    """Count the octets an honest peer says to the probe before it has to `close`."""
    said = 0

    class Counted(MemoryTransport):
        def receive(self, deadline: float) -> bytes | End | None:
            nonlocal said
            octets = super().receive(deadline)
            said += len(octets) if isinstance(octets, bytes) else 0
            return octets

    class Counting(EmbeddedTarget):
        def connect(self, document: str) -> Transport:
            return Counted(self.peer(document), VirtualClock())

    dialect(document).speaker.probe(Counting())
    return said - close


def cut_after(octets: int, how: str = "fin") -> Tampered:
    """Give a reference peer whose connections end after so many octets."""
    return Tampered(lambda honest: Cutting(honest, octets, how))


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_the_probe_refuses_a_peer_that_closes_at_any_octet_of_the_handshake(how: str) -> None:
    for octets in range(said_in_a_handshake()):
        with pytest.raises(Unreachable, match="does not open"):
            dialect(DOCUMENT).speaker.probe(cut_after(octets, how))


def judged(target: Target, rule: str, folder: Path, patience: Patience = HURRIED) -> list[Judged]:
    """Judge the rule on the target by all its checks; a passive rule by those that give occasion."""
    with EventWriter(Path(tempfile.mkdtemp(dir=folder)), "main", lambda: 0.0) as writer:
        judge = Judge(target, writer, "hostile", patience=patience, lively=False)
        watches = checks().passive(rule, Role.SERVER)
        names = [watch.during for watch in watches] or [rule]
        pairs = [
            (catalogue()[name], each)
            for name in names
            for each in checks().scenarios[name]
            if each.role is Role.SERVER
        ]
        if pairs[0][1].exclusive:
            return judge.exclusive(pairs)
        return [judge.judge(*pair) for pair in pairs]


@pytest.mark.parametrize("rule", FAMILIES.values(), ids=list(FAMILIES))
@pytest.mark.parametrize("behind", [b"", OPENED], ids=["at-once", "opened"])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_family_passes_or_breaks_on_it(name: str, behind: bytes, rule: str, tmp_path: Path) -> None:
    for each in judged(Tampered(hostile(name, behind=behind)), rule, tmp_path):
        # A wrong header gets what the document wants from a peer that turns later, or speaks 1.0 only.
        assert each.verdict is not Verdict.PASS or rule == FAMILIES["handshake"], each
        assert not each.cause, each.cause


@pytest.mark.parametrize("rule", FAMILIES.values(), ids=list(FAMILIES))
def test_no_family_breaks_on_a_peer_that_closes_anywhere(rule: str, tmp_path: Path) -> None:
    for octets in range(0, said_in_a_handshake(), 29):
        for each in judged(cut_after(octets), rule, tmp_path):
            assert not each.cause, each.cause


@pytest.mark.parametrize("rule", FAMILIES.values(), ids=list(FAMILIES))
def test_heartbeats_without_end_change_no_verdict(rule: str, tmp_path: Path) -> None:
    slow = replace(HOSTILE["heartbeats"], pace=0.01)
    beside = Tampered(lambda honest: Harming(slow, honest, behind=OPENED, beside=True))
    longer = replace(HURRIED, budget=1.0)  # virtual; what is waited for lasts as long as it may beside others
    assert {each.verdict for each in judged(beside, rule, tmp_path, longer)} <= {Verdict.PASS, Verdict.INFO}


# -- the command itself ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """A run of the command: its status, what it said, its folder and the most memory it used, in MiB."""

    status: int
    stdout: str
    folder: Path
    most: float

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {result.rule: result.verdict for result in rule_results(read(self.folder))}


def run(url: str, scratch: Path, *options: str, rules: tuple[str, ...] = tuple(FAMILIES.values())) -> Done:
    """Run the command as a user would; one that hangs is killed, and raises TimeoutExpired."""
    folder = Path(tempfile.mkdtemp(dir=scratch)) / "run"
    given = {"--budget": str(BUDGET), "--parallel": "0"} | dict(zip(options[::2], options[1::2], strict=True))
    words = [word for pair in given.items() for word in pair]
    ended = command(
        "run", *rules, "--target", url, "--output", folder, *words,
        cwd=scratch, env=environment(), timeout=WITHIN,
    )  # fmt: skip
    return Done(ended.returncode, ended.stdout + ended.stderr, folder, ended.most / 1024)


def sound(done: Done, rules: Iterable[str] = FAMILIES.values()) -> None:
    """Check what holds whatever the peer did: no traceback, and a folder that can be read and is marked."""
    assert "Traceback" not in done.stdout
    assert "INTERNALERROR" not in done.stdout
    assert verify(done.folder).state is State.PARTIAL
    assert done.verdicts.keys() == set(rules)


def wrong_password(url: str) -> str:
    return url.replace("guest:guest", "guest:wrong")


def over_tls(url: str) -> str:
    return url.replace("amqp://", "amqps://")


LOOKS = 2
"""Connections before the first case: whether AMQP is spoken there, and the probe."""
PEERS: Mapping[str, tuple[Tamper, Callable[[str], str]]] = {
    **{name: (hostile(name), str) for name in HOSTILE},
    **{
        f"{name} when opened": (hostile(name, LOOKS, OPENED), str)
        for name in HOSTILE
        if name not in ("http", "amqp-1-0", "drip", "closes", "heartbeats", "nested")
    },
    "speaks TLS on a plain port": (Tls, str),
    "speaks plainly on a TLS port": (lambda honest: honest, over_tls),
    "knows another password": (lambda honest: honest, wrong_password),
}  # fmt: skip


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """A run against each peer, three at a time."""
    scratch = tmp_path_factory.mktemp("hostile")

    def one(name: str) -> Done:
        tamper, address = PEERS[name]
        with served(tamper) as url:
            return run(address(url), scratch)

    with ThreadPoolExecutor(3) as several:
        return dict(zip(PEERS, several.map(one, PEERS), strict=True))


@pytest.mark.parametrize("name", PEERS)
def test_a_run_against_it_ends_with_status_3_and_says_why(name: str, ends: dict[str, Done]) -> None:
    done = ends[name]
    sound(done)
    assert done.status == 3, done.stdout
    assert "127.0.0.1" in done.stdout
    assert Verdict.PASS not in done.verdicts.values()
    assert done.most <= 200


def test_a_port_nobody_listens_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    done = run(f"amqp://guest:guest@127.0.0.1:{port}", tmp_path)
    sound(done)
    assert done.status == 3
    assert f"127.0.0.1:{port} cannot be reached: Connection refused" in done.stdout


@pytest.mark.broker("rabbitmq")
def test_rabbitmq_does_not_know_the_password(rabbitmq: Target, tmp_path: Path) -> None:
    place = rabbitmq.endpoint()
    done = run(f"amqp://guest:wrong@{place.host}:{place.port}", tmp_path, "--budget", "20")
    sound(done)
    assert done.status == 3
    assert "are user and password right?" in " ".join(done.stdout.split())


@pytest.mark.parametrize("parallel", ["0", "2"])
def test_a_peer_that_dies_half_way_leaves_the_verdicts_so_far(parallel: str, tmp_path: Path) -> None:
    with served(lambda honest: Dying(honest, lives=9)) as url:
        done = run(url, tmp_path, "--parallel", parallel, "--budget", "30")
    sound(done)
    assert done.status == 3, done.stdout
    assert "cannot be reached" in done.stdout or "no longer serves" in done.stdout
    assert {Verdict.PASS, Verdict.NOT_RUN} <= set(done.verdicts.values())


@pytest.mark.parametrize("parallel", ["0", "2"])
def test_a_budget_that_is_spent_makes_the_run_partial_and_the_gate_decides(
    parallel: str, tmp_path: Path
) -> None:
    # So slow that no machine judges all, and quick enough for a busy one to judge some.
    with served(lambda honest: honest, latency=0.1) as url:
        done = run(url, tmp_path, "--parallel", parallel, "--budget", "20", rules=())
    assert verify(done.folder).state is State.PARTIAL
    assert done.status == 1
    assert "the run's budget of 20 s is spent" in done.stdout
    assert {Verdict.PASS, Verdict.NOT_RUN} <= set(done.verdicts.values())
    assert len(done.verdicts) == len(RULES)


@pytest.mark.parametrize(("name", "pace"), [("heartbeats", 0.05), ("endless-body", 0.0)])
def test_an_endless_peer_that_serves_meanwhile_costs_no_more_than_200_mib(
    name: str, pace: float, tmp_path: Path
) -> None:
    chatty = replace(HOSTILE[name], pace=pace)
    looks = LOOKS + len(documents()) - 1  # rules of all protocols: each is asked for at first
    with served(lambda honest: Harming(chatty, honest, spared=looks, behind=OPENED, beside=True)) as url:
        done = run(url, tmp_path, "--budget", "4", rules=())
    assert "Traceback" not in done.stdout
    assert verify(done.folder).state is State.PARTIAL
    assert done.status in (1, 3), "the budget is spent, or it said more than a run keeps"
    assert len(done.verdicts) == len(RULES)
    assert done.most <= 200


# -- the bounds themselves ---------------------------------------------------------------------------------


def test_a_peer_that_keeps_a_scenario_busy_is_an_error_of_that_scenario(tmp_path: Path) -> None:
    opened = Tampered(hostile("deliveries", behind=OPENED))
    (found,) = judged(opened, FAMILIES["queue"], tmp_path, Patience())
    assert found.verdict is Verdict.ERROR
    assert "the peer talks without end" in found.detail


def test_a_run_that_has_no_room_for_more_evidence_ends(tmp_path: Path) -> None:
    rule = catalogue()[FAMILIES["channel"]]
    with EventWriter(tmp_path, "main", lambda: 0.0) as writer:
        judge = Judge(EmbeddedTarget(), writer, "full", room=Room(3))
        with pytest.raises(TargetDied, match="without end"):
            judge.judge(rule, checks().scenarios[rule.id][0])


def test_no_budget_is_wrong_usage(amqp_conformance: Command) -> None:
    done = amqp_conformance("run", "--budget", "0")
    assert done.returncode == 2
    assert "--budget" in done.stderr
