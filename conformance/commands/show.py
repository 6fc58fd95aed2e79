"""The catalogue and the targets, shown to a person or to a program."""

import inspect
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from conformance.render.rows import show_rows
from harness.targets.named import known_targets
from scenarios.registry import Scenario, Watch, checks
from spec.applicability import said_of
from spec.catalogue import catalogue
from spec.grammar.amqp0_9_1 import rules as grammar0_9_1
from spec.grammar.amqp1_0 import rules as grammar1_0
from spec.grammar.derived import Derived
from spec.rules import Role, Rule

SHOWN = 8
"""Related rules of one document that are listed; the grammar can have one for every method."""


def rules_json(rules: Iterable[Rule]) -> str:
    return json.dumps([_entry(rule) for rule in rules], indent=1, ensure_ascii=False)


def _entry(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "document": rule.document,
        "section": rule.section,
        "level": rule.level,
        "binds": rule.binds,
        "judged": rule.judged,
        "text": rule.text,
        "scenario": rule.scenario,
        "scenario_is_ours": rule.scenario_is_ours,
        "on_failure": rule.on_failure,
        "testability": rule.testability,
        "reason": rule.reason,
        "reading": rule.reading,
        "faults": [{"is": each.says, "rules": each.rules} for each in rule.faults],
        "related": [each.id for each in catalogue().related(rule)],
        "checks": [check.name for check in checks().of(rule.id)],
        "deviations": [each.says for each in checks().deviations.get(rule.id, ())],
    }


def show_rules(rules: Sequence[Rule], console: Console) -> None:
    """Print how many rules these are, then each as one line."""
    console.print(Text(f"{len(rules)} of {len(catalogue().rules)} rules"), soft_wrap=True)
    rows = [
        (
            rule.id,
            str(rule.level),
            f"{rule.binds} → {rule.judged}",
            str(rule.testability),
            ", ".join(check.name for check in checks().of(rule.id)) or "–",
        )
        for rule in rules
    ]
    show_rows(rows, console, ("rule", "level", "binds → judged", "testability", "checks"))


def rule_page(rule: Rule) -> RenderableType:
    """Everything about one rule: the sentence, its place, its reading, its relatives, and its checks."""
    document = next(each for each in catalogue().documents if each.prefix == rule.document)
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    whose = "scenario (ours)" if rule.scenario_is_ours else "scenario"
    for name, value in (
        ("document", f"{document.title}, {document.revision}"),
        ("stands in", f"{document.file}: {rule.place}" if rule.claims or not rule.source else ""),
        ("asks" if rule.is_in_our_words else "sentence", rule.text),
        ("rests upon", rule.source),
        ("said of", said_of(rule)),
        ("family", _family(rule)),
        (whose, rule.scenario),
        ("on failure", rule.on_failure or ""),
        ("level", rule.level),
        ("binds", f"{rule.binds}; judged is the {rule.judged}"),
        ("testability", rule.testability),
        ("reason", rule.reason),
        ("reading", rule.reading),
        ("of clients", rule.unseen_on_clients),
        ("one fault", "\n".join(rule.one_fault)),
    ):
        if value:
            facts.add_row(name, Text(value))
    for label, told in _related(rule):
        facts.add_row(label, Text(told))
    for check in checks().of(rule.id):
        whom = "check of clients" if check.role is Role.CLIENT else "check"
        facts.add_row(whom, Text(f"{check.name} ({_source(check)})\n{check.does}"))
    for role, peer in ((Role.SERVER, "peer"), (Role.CLIENT, "client")):
        for deviation in checks().deviating(role).get(rule.id, ()):
            facts.add_row("proved by", Text(f"a {peer} that {deviation.says}"))
    if not checks().of(rule.id):
        facts.add_row("check", Text("none"))
    return Group(Text(rule.id, style="bold underline"), facts)


def _family(rule: Rule) -> str:
    """Name the family that a rule of a grammar belongs to; empty for any other."""
    derived: list[Derived[Any]] = [*grammar0_9_1.derived(), *grammar1_0.derived()]
    return next((each.family for each in derived if each.rule.id == rule.id), "")


def _related(rule: Rule) -> Iterator[tuple[str, str]]:
    """Give what else the documents say about the same thing, by document, each with its first words."""
    related = catalogue().related(rule)
    for document in catalogue().documents:
        own = [each for each in related if each.document == document.prefix]
        lines = [f"{each.id} ({each.level})\n  {each.gist}" for each in own[:SHOWN]]
        if len(own) > SHOWN:
            lines.append(f"and {len(own) - SHOWN} more")
        if lines:
            yield f"see in {document.prefix}", "\n".join(lines)


def _source(check: Scenario | Watch) -> str:
    # A family of rules shares one function, wrapped for each of them.
    function = inspect.unwrap(check.play if isinstance(check, Scenario) else check.fold.step)
    path = Path(inspect.getsourcefile(function) or "?")
    return f"{'/'.join(path.parts[-3:])}:{inspect.getsourcelines(function)[1]}"


def show_targets(console: Console) -> None:
    """Print how many targets are known and can start here, then each as one line."""
    known = known_targets()
    here = sum(each.starts_here for each in known)
    console.print(Text(f"{here} of {len(known)} known targets start here"), soft_wrap=True)
    rows = [
        (each.name, "yes" if each.starts_here else "no", " – ".join(filter(None, (each.why, each.about))))
        for each in known
    ]
    show_rows(rows, console, ("target", "starts here", "why not – about"))
