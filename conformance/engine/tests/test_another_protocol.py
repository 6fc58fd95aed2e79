"""A protocol that nobody here has heard of: registered, opened, judged by one rule, and its checks proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.captured import transcript_of
from conformance.engine.judge import Judge
from conformance.evidence import captured
from conformance.evidence.capture import write_capture
from conformance.evidence.captured import read_capture
from conformance.evidence.keeping import Memory
from conformance.evidence.verdicts import Verdict
from harness.dialect import HOMES, dialect, documents
from harness.play.context import Context
from harness.targets.embedded import EmbeddedTarget
from harness.tests.toy.broken import Fault, says
from harness.tests.toy.client.connection import Toy, words
from harness.tests.toy.wire.frames import HEADER, Frame
from harness.wire.journal import Octets
from harness.wire.transport import Unreachable
from scenarios.registry import Scenario
from spec.rules import Level, Party, Place, Rule, Testability

RULE = Rule(
    id="toy/pong",
    document="toy",
    name="pong",
    section="1",
    place=Place((), 0),
    text="A ping is answered by a pong.",
    scenario="Say ping.",
    scenario_is_ours=True,
    on_failure=None,
    level=Level.MUST,
    binds=Party.SERVER,
    judged=Party.SERVER,
    testability=Testability.ACTIVE,
    reason="",
    reading="",
)


def ping_is_answered(toy: Toy) -> None:
    """A ping is answered, in any voice."""
    toy.connection().says(b"ping", words(b"pong", b"PONG"))


PING = Scenario(RULE.id, "ping_is_answered", ping_is_answered, frozenset(), False, False, False)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOMES, "toy", "harness.tests.toy")


def come_to(change: object = None, policy: object = None) -> tuple[Verdict, Memory]:
    evidence = Memory()
    with EmbeddedTarget(change, policy) as target:
        return Judge(target, evidence, "toy", lively=False).judge(RULE, PING).verdict, evidence


def test_it_is_probed_and_serves() -> None:
    spoken = dialect("toy").speaker
    assert "toy" in documents()
    assert spoken.probe(EmbeddedTarget()).product == "a toy"
    spoken.serves(EmbeddedTarget())
    with pytest.raises(Unreachable, match="no longer serves a new client"):
        spoken.serves(EmbeddedTarget(says(b"nonsense")))
    with pytest.raises(Unreachable, match="does not open an AMQP toy connection"):
        spoken.probe(EmbeddedTarget(Fault.drops("header: is answered")))
    assert spoken.remove(EmbeddedTarget(), Context(Memory(), "test"), [("queue", "q")]) == []


def test_a_rule_is_judged_and_its_exchange_is_explained() -> None:
    verdict, evidence = come_to()
    assert verdict is Verdict.PASS
    assert [each.says for each in evidence.exchange if isinstance(each, Octets)] == [
        "protocol header AMQP toy", "protocol header AMQP toy", "words ping", "words pong",
    ]  # fmt: skip
    told = dialect("toy").annotate(Frame(b"ping").encode())
    assert [each.name for each in told] == ["size", "words"]
    assert next(dialect("toy").annotate(HEADER[:5])).name == "not a frame"


def test_what_was_captured_of_it_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "_protocols", captured._protocols.__wrapped__)
    _, evidence = come_to()
    write_capture(evidence.lines, tmp_path / "capture.pcapng")
    (connection,) = read_capture(tmp_path / "capture.pcapng")
    assert connection.protocol == "toy"
    units = [each.unit for each in transcript_of(connection)]
    assert [each for each in units if isinstance(each, Frame)] == [Frame(b"ping"), Frame(b"pong")]


def test_its_check_can_fail_and_is_fair() -> None:
    proof = dialect("toy").proof
    assert come_to(says(b"nonsense"))[0] is Verdict.FAIL
    assert {name: come_to(policy=policy)[0] for name, policy in proof.policies.items()} == {
        "loud = True": Verdict.PASS
    }
    unseen = [each.name for each in proof.mutants() if come_to(each.change)[0] is Verdict.PASS]
    assert unseen == ["ping: is answered / goes to EXPECTED"]  # nobody asks twice
    assert [name for name, fake in proof.fakes.items() if come_to(fake)[0] is Verdict.PASS] == []


def test_what_a_change_may_touch_is_found() -> None:
    proof, target = dialect("toy").proof, EmbeddedTarget()
    with target:
        judge = Judge(target, evidence := Memory(), "toy", lively=False)
        judge.judge(RULE, PING)
    used = proof.footprint(target.peer("toy"), evidence.exchange)
    assert used.taken >= {"header: is answered", "ping: is answered", "loud"}
    assert proof.touches(says(b"nonsense"), used)
    assert proof.touches(proof.policies["loud = True"], used)
    assert not proof.touches(Fault.drops("header: is answered"), proof.footprint(proof.peer(), []))
