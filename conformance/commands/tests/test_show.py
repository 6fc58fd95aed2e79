"""What `explain` and `rules --json` tell about a rule."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from rich.console import Console

from conformance.commands.show import SHOWN, rule_page, rules_json, show_rules, show_targets
from harness.targets.named import known_targets
from harness.targets.target import Known
from spec.catalogue import catalogue
from spec.rules import GIST, Rule

PROSE, GRAMMAR = "0-9-1/prose/4.2.6.body-beyond-size", "0-9-1/grammar/basic.publish.content-body-overlong"


def explained(identity: str) -> str:
    """Say what `explain` prints, without its layout."""
    console = Console(width=4000, no_color=True)
    with console.capture() as captured:
        console.print(rule_page(catalogue()[identity]))
    return captured.get()


def test_what_a_sentence_and_the_grammar_ask_is_shown_from_both_sides() -> None:
    for one, other in ((PROSE, GRAMMAR), (GRAMMAR, PROSE)):
        told = explained(one)
        assert f"{other} (must)" in told
        assert catalogue()[other].gist in told


def test_rules_that_one_fault_breaks_name_one_another() -> None:
    pair = ("0-9-1/connection.tune-ok.frame-max.minimum", "0-9-1/prose/2.3.3.reduced-limits-borne")
    for one, other in (pair, pair[::-1]):
        assert f"then with this rule it breaks {other}: one fault, not several." in explained(one)
    (told,) = json.loads(rules_json([catalogue()[pair[0]]]))
    assert [each["rules"] for each in told["faults"]] == [list(pair)]


def test_related_rules_come_a_document_at_a_time() -> None:
    told = explained("0-9-1/prose/4.2.3.connection-method-on-channel-refused")
    headings = [line.split("  ")[0] for line in told.splitlines() if line.startswith("see in ")]
    assert headings == ["see in 0-9-1", "see in 0-9-1/grammar"]


def test_many_related_rules_are_counted() -> None:
    rule = catalogue()["0-9-1/prose/4.10.1.invalid-data-closes"]
    in_the_grammar = [each for each in catalogue().related(rule) if each.document == "0-9-1/grammar"]
    beyond = len(in_the_grammar) - SHOWN
    assert beyond > 0
    assert f"and {beyond} more" in explained(rule.id)


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        (
            "0-9-1/prose/4.2.3.unknown-frame-type-fatal",
            ("2.3.7 asks for a handshake", "without a further octet"),
        ),
        ("0-9-1/grammar/undefined-type", ("2.3.7 by a hand-shake", "without a further octet")),
        ("0-9-1/prose/4.2.6.1.wrong-class-id-refused", ("501 here", "505")),
        ("0-9-1/grammar/basic.publish.content-class", ("4.2.6.1 says 501", "505")),
        ("0-9-1/prose/4.2.5.5.field-names-validated", ("503 is command invalid, syntax error is 502",)),
        ("0-9-1/prose/4.2.3.heartbeat-form", ("gives the type as 4", "8 is read")),
        ("0-9-1/prose/4.2.3.heartbeat-on-channel-refused", ("503 here, 501 in 4.2.7",)),
        ("0-9-1/prose/4.3.channel-max-meaning", ("a count", "the highest number")),
        ("0-9-1/connection.tune-ok.channel-max.upper-limit", ("highest channel number", "total number")),
    ],
)
def test_a_contradiction_is_explained_where_its_rule_is(identity: str, words: tuple[str, ...]) -> None:
    told = explained(identity)
    assert "reading " in told
    assert [each for each in words if each not in told] == []


def test_a_rule_related_to_none_says_nothing_about_it() -> None:
    alone = next(rule for rule in catalogue().rules if not catalogue().related(rule))
    assert "see in" not in explained(alone.id)


def test_json_has_the_relations() -> None:
    one, other = json.loads(rules_json(catalogue()[each] for each in (PROSE, GRAMMAR)))
    assert GRAMMAR in one["related"]
    assert PROSE in other["related"]


def test_first_words_are_one_line_of_a_list() -> None:
    for rule in catalogue().rules:
        assert rule.gist
        assert len(rule.gist) <= GIST
        assert "\n" not in rule.gist


def test_rules_and_targets_are_counted_and_then_a_line_each() -> None:
    rules, known = catalogue().rules[:3], known_targets()
    shows: list[tuple[Callable[[Console], None], Sequence[Rule | Known], int]] = [
        (partial(show_rules, rules), rules, len(catalogue().rules)),
        (show_targets, known, len(known)),
    ]
    for show, listed, all_there_are in shows:
        written = io.StringIO()
        show(Console(file=written, width=20))
        count, *lines = written.getvalue().splitlines()
        assert count.split()[1:3] == ["of", str(all_there_are)]
        names = [each.id if isinstance(each, Rule) else each.name for each in listed]
        assert [line.split("  ")[0] for line in lines] == names
        assert not [line for line in lines if line != line.strip()]
