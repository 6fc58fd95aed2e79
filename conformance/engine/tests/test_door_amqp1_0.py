"""A 1.0 server whose first words are wrong: its rule is red, and what does not depend on it is judged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.conclusion import BLOCKED, MISSED
from conformance.engine.tests.test_door import judged_whole
from conformance.engine.tests.test_hostile import run, served
from conformance.evidence.stream import State, verify
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.proof.detection import Fate, fate, in_memory, judge_rule
from harness.amqp1_0.broken.deviations import Interposer, follows, replaces, withholds
from harness.amqp1_0.wire.performatives import SaslMechanisms, SaslOutcome
from harness.amqp1_0.wire.types import Symbol
from harness.dialect import dialect
from harness.targets.target import Target
from harness.tests.proxied import ProxiedTarget
from harness.wire.transport import Unreachable
from scenarios.registry import checks
from spec.catalogue import catalogue

DOCUMENT = "1-0"
DOORS = [
    ("1-0/2.2.header-layout", "proceeds behind another revision"),
    ("1-0/2.2.header-layout", "proceeds behind an id that nobody defines"),
    ("1-0/2.2.data-matches-header", "sends its header twice"),
    ("1-0/2.3.1.size-covers-frame", "has a data offset of one word"),
    ("1-0/2.3.1.size-covers-frame", "has a data offset beyond its open"),
    ("1-0/2.3.1.size-covers-frame", "leaves the size at zero"),
    ("1-0/2.3.1.type-names-layer", "begins with a frame of an unknown type"),
    ("1-0/2.3.1.type-names-layer", "sends its open as a SASL frame"),
    ("1-0/2.3.1.type-names-layer", "sends frames of a type that nobody defines"),
    ("1-0/2.3.2.performative-defined", "sends a performative of its own"),
    ("1-0/2.3.2.performative-defined", "has one of its own before its open"),
    ("1-0/2.4.1.open-answered", "keeps its open to itself"),
    ("1-0/2.4.1.open-first", "closes before it opens"),
    ("1-0/2.4.1.open-on-channel-zero", "opens on the channel it likes"),
    ("1-0/2.4.6.open-sent-once", "opens twice"),
    ("1-0/2.7.1.open-well-formed", "does not say who it is"),
    ("1-0/2.7.1.open-well-formed", "has a text for its channel-max"),
    ("1-0/2.7.1.open-well-formed", "has a text for its max-frame-size"),
    ("1-0/2.7.1.open-well-formed", "has a text for its idle-time-out"),
    ("1-0/2.7.1.open-well-formed", "opens with a map"),
    ("1-0/2.8.19.minimum-frame-size-stated", "states one octet less"),
]
"""Rules, and deviations that break them in what a server says first."""
each_door = pytest.mark.parametrize(("rule", "says"), DOORS)

BREAKS_BY_ITSELF = {
    ("1-0/2.4.1.open-first", "closes before it opens"): "a close before any open is answered by a close",
}
"""What RabbitMQ does without a proxy before it, and how: there the deviation changes no verdict."""

BEARABLE = {
    ("1-0/2.2.header-layout", "proceeds behind another revision"),
    ("1-0/2.2.data-matches-header", "sends its header twice"),
    ("1-0/2.3.1.size-covers-frame", "has a data offset of one word"),
    ("1-0/2.3.1.type-names-layer", "begins with a frame of an unknown type"),
    ("1-0/2.4.6.open-sent-once", "opens twice"),
    ("1-0/2.7.1.open-well-formed", "has a text for its channel-max"),
}
"""Those that are run whole, and behind which all else can be judged."""
BLOCKING = [
    ("1-0/2.3.2.performative-defined", "sends a performative of its own"),
    ("1-0/2.4.1.open-answered", "keeps its open to itself"),
]
"""Those behind which no open comes, and no answer that depends on it."""
NEITHER_OPENS = "1-0/2.4.1.open-first"
"""What both break besides, by the close with which they answer ours."""


def change(rule: str, says: str) -> Any:
    (found,) = (each.change for each in checks().deviations[rule] if each.says == says)
    return found


@each_door
def test_in_memory_its_rule_is_red(rule: str, says: str) -> None:
    asked = catalogue()[rule]
    clean, seen = (judge_rule(asked, in_memory(each)) for each in (None, change(rule, says)))
    assert fate(asked, clean, seen) is Fate.KILLED, seen


@each_door
def test_the_probe_gets_on_or_says_by_which_rule_it_does_not(rule: str, says: str) -> None:
    found = dialect(DOCUMENT).speaker.probe(in_memory(change(rule, says)))
    assert found.barrier is None or found.barrier.rule == rule


@pytest.mark.broker("rabbitmq")
@pytest.mark.parametrize(("rule", "says"), [each for each in DOORS if each not in BREAKS_BY_ITSELF])
def test_before_rabbitmq_its_rule_is_red(rule: str, says: str, rabbitmq: Target) -> None:
    asked = catalogue()[rule]
    clean, seen = (judge_rule(asked, ProxiedTarget(rabbitmq, each)) for each in (None, change(rule, says)))
    assert clean.verdict is Verdict.PASS, clean
    assert fate(asked, clean, seen) is Fate.KILLED, seen


@pytest.mark.parametrize(("rule", "says"), sorted(BEARABLE))
def test_a_whole_run_judges_what_does_not_depend_on_it(rule: str, says: str, tmp_path: Path) -> None:
    with served(lambda honest: change(rule, says).before(honest), document=DOCUMENT) as url:
        done = run(url, tmp_path, "--budget", "120", "--parallel", "8", rules=(DOCUMENT,))
    assert done.status == 1, done.stdout[-2000:]
    assert verify(done.folder).state is State.OK
    assert done.verdicts[rule] is MISSED[catalogue()[rule].level]
    counts = Counter(done.verdicts.values())
    assert counts[Verdict.PASS] > 70, counts
    assert f"{BLOCKED}1-0" not in done.stdout


SASL_TWICE = {
    "mechanisms": follows(SaslMechanisms, SaslMechanisms(sasl_server_mechanisms=[Symbol("PLAIN")])),
    "outcome": follows(SaslOutcome, SaslOutcome(code=0)),
}


@pytest.mark.parametrize("name", SASL_TWICE)
def test_what_is_said_twice_in_the_layer_of_sasl_counts_against_no_rule_of_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = judged_whole(SASL_TWICE[name], tmp_path, monkeypatch, rules=(DOCUMENT,))
    assert done.gate.exit_status is Exit.MET
    fine = {Verdict.PASS, Verdict.INFO, Verdict.INAPPLICABLE, Verdict.UNTESTABLE}
    assert {each.verdict for each in done.report.results} <= fine


@pytest.mark.parametrize("change", [withholds(SaslMechanisms), replaces(SaslMechanisms, SaslOutcome(code=0))])
def test_who_offers_no_mechanism_at_all_is_not_judged(change: Interposer) -> None:
    with pytest.raises(Unreachable, match="sasl-mechanisms was answered by"):
        dialect(DOCUMENT).speaker.probe(in_memory(change))


UNTAKEN = [
    ("1-0/2.2.header-layout", "proceeds behind another revision"),
    ("1-0/2.3.1.size-covers-frame", "has a data offset of one word"),
    ("1-0/2.3.1.type-names-layer", "sends its open as a SASL frame"),
]
"""Those that have more to do with how something is written than with what it is."""
EVERY_OCTET = "1-0/2.2.data-matches-header"
"""What frames of another form or layer break besides."""
ANY_VERSION = {"1-0/2.2.mismatch-closes", "1-0/2.2.supported-version-proceeds"}
"""What a server breaks besides that answers every header by the same wrong one."""


@pytest.mark.parametrize(("rule", "says"), UNTAKEN)
def test_who_writes_its_first_words_wrongly_breaks_no_rule_about_what_they_say(
    rule: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = judged_whole(change(rule, says), tmp_path, monkeypatch, rules=(DOCUMENT,))
    verdicts = {each.rule: each.verdict for each in done.report.results}
    red = {each for each, verdict in verdicts.items() if verdict in (Verdict.FAIL, Verdict.WARN)}
    assert rule in red <= {rule, EVERY_OCTET, *ANY_VERSION}
    assert Verdict.ERROR not in verdicts.values()


@pytest.mark.parametrize(("rule", "says"), BLOCKING)
def test_a_whole_run_says_of_each_rule_that_is_not_judged_what_blocks_it(
    rule: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = judged_whole(change(rule, says), tmp_path, monkeypatch, rules=(DOCUMENT,))
    assert done.ending.lost is None
    assert done.gate.exit_status is Exit.NOT_MET
    verdicts = {each.rule: each.verdict for each in done.report.results}
    red = {each for each, verdict in verdicts.items() if verdict in (Verdict.FAIL, Verdict.WARN)}
    assert red == {rule, NEITHER_OPENS}
    assert not {Verdict.ERROR, Verdict.INCONCLUSIVE} & set(verdicts.values())
    blocked = [each.signature for each in done.report.results if each.verdict is Verdict.NOT_RUN]
    assert set(blocked) == {f"{BLOCKED}{rule}"}
    assert Counter(verdicts.values())[Verdict.PASS] > 10
    assert done.gate.sentence.endswith(f"{len(blocked)} rules are blocked by {rule}")
