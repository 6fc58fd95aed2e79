import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from spec.annotations import AnnotationError, annotate, cited, needs_reason
from spec.catalogue import DOCUMENTS, catalogue
from spec.readers.amqp0_9_1 import DOCUMENT
from spec.readers.keywords import strongest
from spec.readers.provisions import Provision, provisions
from spec.rules import Level, Party, Place, Rule, Testability

RULES = tuple(rule for rule in catalogue().rules if rule.document == "0-9-1")
FILE = DOCUMENTS / "amqp0-9-1.annotations.toml"
TABLE = {"level": "must", "binds": "server", "judged": "server", "testability": "active"}


def provision(text: str = "The server MUST.", scenario: str | None = "Try it.") -> Provision:
    return Provision("p/c.r", "p", "r", "c", Place((("class", "c"), ("rule", "r")), 0), text, scenario, None)


def loaded(folder: Path, tables: dict[str, dict[str, str]], *said: Provision) -> tuple[Rule, ...]:
    path = folder / "annotations.toml"
    lines = []
    for identity, table in tables.items():
        lines += [f'["{identity}"]', *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    path.write_text("\n".join(lines), encoding="utf-8")
    return annotate(said or [provision()], path)


def complaint(folder: Path, table: dict[str, str], *said: Provision) -> str:
    with pytest.raises(AnnotationError) as caught:
        loaded(folder, {"p/c.r": table}, *said)
    assert str(caught.value).startswith(f"{folder}/annotations.toml: ")
    return str(caught.value).removeprefix(f"{folder}/annotations.toml: ")


def test_plain_rule_needs_no_more_than_four_keys(tmp_path: Path) -> None:
    (rule,) = loaded(tmp_path, {"p/c.r": TABLE})
    assert (rule.level, rule.binds, rule.judged) == (Level.MUST, Party.SERVER, Party.SERVER)
    assert (rule.scenario, rule.scenario_is_ours, rule.reason, rule.reading) == ("Try it.", False, "", "")


def test_our_scenario_is_flagged_as_ours(tmp_path: Path) -> None:
    (rule,) = loaded(tmp_path, {"p/c.r": TABLE | {"scenario": " Do  it. "}}, provision(scenario=None))
    assert (rule.scenario, rule.scenario_is_ours) == ("Do it.", True)


@pytest.mark.parametrize("key", TABLE)
def test_missing_key(tmp_path: Path, key: str) -> None:
    table = {name: value for name, value in TABLE.items() if name != key}
    assert complaint(tmp_path, table) == f"[p/c.r] lacks the key {key!r}."


def test_superfluous_key(tmp_path: Path) -> None:
    assert complaint(tmp_path, TABLE | {"colour": "red"}) == "[p/c.r] has the superfluous key 'colour'."


@pytest.mark.parametrize("key", TABLE)
def test_unknown_value(tmp_path: Path, key: str) -> None:
    sentence = complaint(tmp_path, TABLE | {key: "perhaps"})
    assert sentence.startswith(f"[p/c.r] has the unknown {key} 'perhaps'; it can be one of '")


@pytest.mark.parametrize("key", ["level", "reason", "scenario"])
def test_empty_value(tmp_path: Path, key: str) -> None:
    assert complaint(tmp_path, TABLE | {key: " "}) == f"[p/c.r] has no text under {key!r}."


@pytest.mark.parametrize(
    ("change", "text", "cause"),
    [
        ({"testability": "untestable"}, "The server MUST.", "its testability is 'untestable'"),
        (
            {"testability": "needs a client under test"},
            "The server MUST.",
            "its testability is 'needs a client under test'",
        ),
        ({"binds": "client"}, "The client MUST.", "it binds the client but the server is judged"),
        ({}, "The server will.", "its text has no keyword"),
        (
            {},
            "The server SHOULD.",
            "its level is must while the strongest keyword of its text is of level should",
        ),
    ],
)
def test_missing_reason(tmp_path: Path, change: dict[str, str], text: str, cause: str) -> None:
    assert complaint(tmp_path, TABLE | change, provision(text)) == f"[p/c.r] needs a reason, because {cause}."
    assert loaded(tmp_path, {"p/c.r": TABLE | change | {"reason": "Because."}}, provision(text))


def test_missing_scenario(tmp_path: Path) -> None:
    sentence = complaint(tmp_path, TABLE, provision(scenario=None))
    assert sentence == "[p/c.r] needs a scenario, because the document has none."


def test_scenario_where_the_document_has_one(tmp_path: Path) -> None:
    sentence = complaint(tmp_path, TABLE | {"scenario": "Do it."})
    assert sentence == "[p/c.r] brings a scenario where the document has its own."


def test_reference_to_no_rule(tmp_path: Path) -> None:
    sentence = complaint(tmp_path, TABLE | {"reading": "See p/c.other."})
    assert sentence == "[p/c.r] refers to p/c.other, which is no rule."


def test_rule_without_table(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match=r"the rule p/c\.r has no annotation\.$"):
        loaded(tmp_path, {})


def test_table_without_rule(tmp_path: Path) -> None:
    with pytest.raises(
        AnnotationError, match=r"\[p/c\.x\] annotates a rule that the document does not have\.$"
    ):
        loaded(tmp_path, {"p/c.r": TABLE, "p/c.x": TABLE})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('level = "must"', "level stands outside every table"),
        ("[", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_file_that_is_none(tmp_path: Path, content: str | None, sentence: str) -> None:
    path = tmp_path / "annotations.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(AnnotationError, match=sentence):
        annotate([provision()], path)


def test_no_key_of_the_committed_file_can_be_removed(tmp_path: Path) -> None:
    """Each key of each of the 115 tables is missed when it goes, but for what nothing demands."""
    said = {each.id: each for each in provisions(DOCUMENT, "0-9-1")}
    tables: dict[str, dict[str, str]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    for identity, table in tables.items():
        # Alone in its file a rule cannot refer to others, so the references are taken out.
        plain = {name: value.replace("0-9-1/", "") for name, value in table.items()}
        assert loaded(tmp_path, {identity: plain}, said[identity])
        for key in plain:
            if key in ("reading", "left-to", "unseen-on-clients") or (
                key == "reason" and needs_reason(catalogue()[identity]) is None
            ):
                continue
            with pytest.raises(AnnotationError, match=f"lacks the key '{key}'|needs a {key}"):
                loaded(tmp_path, {identity: {k: v for k, v in plain.items() if k != key}}, said[identity])


def test_tables_stand_in_document_order() -> None:
    assert list(tomllib.loads(FILE.read_text(encoding="utf-8"))) == [rule.id for rule in RULES]


def test_levels_follow_the_policy() -> None:
    """A server that is bound is judged at its keyword; a client's duty with on-failure at SHOULD."""
    for rule in RULES:
        if rule.binds == Party.CLIENT and rule.judged == Party.SERVER:
            assert rule.level == Level.SHOULD, rule.id
        elif rule.id != "0-9-1/channel.flow.initial-state":
            assert rule.level == strongest(rule.text), rule.id


def test_25_of_the_30_rules_with_on_failure_are_duties_of_the_client() -> None:
    assert Counter(rule.binds for rule in RULES if rule.on_failure) == {Party.CLIENT: 25, Party.SERVER: 5}
    assert all(rule.judged == Party.SERVER for rule in RULES if rule.on_failure)


def test_what_only_a_client_shows_judges_the_client() -> None:
    for rule in RULES:
        assert (rule.testability == Testability.CLIENT) <= (rule.judged == Party.CLIENT), rule.id
        broker_cannot = rule.testability in (Testability.CLIENT, Testability.UNTESTABLE)
        assert (rule.judged in (Party.CLIENT, Party.APPLICATION)) <= broker_cannot, rule.id


CONFLICTS = [
    ("exchange.declare.type.typed", "exchange.declare.passive.equivalent"),
    ("exchange.declare.passive.equivalent", "exchange.declare.type.typed"),
    ("queue.declare.auto-delete.pre-existence", "queue.declare.passive.equivalent"),
    ("queue.declare.passive.equivalent", "queue.declare.auto-delete.pre-existence"),
    ("queue.unbind.01", "queue.unbind.queue.must-exist"),
    ("queue.unbind.queue.must-exist", "queue.unbind.01"),
    ("queue.unbind.exchange.must-exist", "queue.unbind.01"),
    ("queue.unbind.queue.queue-known", "queue.unbind.01"),
    ("queue.unbind.exchange.default-exchange", "exchange.default-access"),
    ("exchange.default-access", "queue.unbind.exchange.default-exchange"),
    ("connection.start.server-support", "connection.start.protocol-name"),
    ("connection.tune.frame-max.minimum", "connection.tune-ok.frame-max.minimum"),
    ("connection.tune-ok.frame-max.minimum", "connection.tune.frame-max.minimum"),
    ("domain.redelivered.implementation", "basic.reject.requeue.01"),
    ("basic.deliver.01", "basic.reject.requeue.01"),
]


@pytest.mark.parametrize(("identity", "other"), CONFLICTS)
def test_conflict_between_two_rules_is_read(identity: str, other: str) -> None:
    assert f"0-9-1/{other}" in cited(catalogue()[f"0-9-1/{identity}"].reading, "0-9-1")


CONTRADICTED = [
    ("queue.bind.queue.queue-known", "queue-name"),
    ("queue.purge.queue.queue-known", "queue-name"),
    ("queue.delete.queue.queue-known", "queue-name"),
    ("exchange.declare.exchange.syntax", "exchange-name"),
    ("queue.declare.queue.syntax", "queue-name"),
    ("exchange.required-instances", "3.1.3.4"),
    ("basic.publish.exchange.02", "reserved-3"),
    ("basic.publish.exchange.03", "hard error"),
    ("basic.qos.prefetch-count.01", "scenario"),
    ("basic.reject.01", "4.2.3"),
    ("basic.reject.requeue.01", "text of the field"),
    ("basic.cancel.01", "synchronous"),
    ("basic.consume.consumer-tag.02", "text of the field"),
    ("queue.declare.exclusive.exclusive", "scenario"),
    ("connection.open.virtual-host.security", "2.2.4"),
]


@pytest.mark.parametrize(("identity", "place"), CONTRADICTED)
def test_conflict_with_another_place_is_read(identity: str, place: str) -> None:
    assert place in catalogue()[f"0-9-1/{identity}"].reading


def test_every_reading_says_what_is_legal_or_judged() -> None:
    for rule in RULES:
        words = ("legal", "judged", "preferred")
        assert not rule.reading or any(word in rule.reading.lower() for word in words), rule.id
