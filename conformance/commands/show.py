"""The catalogue and the targets, shown to a person or to a program."""

import inspect
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.targets.named import known_targets
from scenarios.registry import Scenario, Watch, checks
from spec.catalogue import catalogue
from spec.grammar.rules import derived
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


def rules_table(rules: Iterable[Rule]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("rule", no_wrap=True)
    for column in ("level", "binds → judged", "testability", "checks"):
        table.add_column(column, overflow="fold")
    for rule in rules:
        names = ", ".join(check.name for check in checks().of(rule.id)) or "–"
        table.add_row(rule.id, rule.level, f"{rule.binds} → {rule.judged}", rule.testability, Text(names))
    return table


def rule_page(rule: Rule) -> RenderableType:
    """Everything about one rule: the sentence, its place, its reading, its relatives, and its checks."""
    document = next(each for each in catalogue().documents if each.prefix == rule.document)
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    whose = "scenario (ours)" if rule.scenario_is_ours else "scenario"
    for name, value in (
        ("document", f"{document.title}, {document.revision}"),
        ("stands in", f"{document.file}: {rule.place}"),
        ("asks" if rule.is_in_our_words else "sentence", rule.text),
        ("rests upon", rule.source),
        ("family", next((each.family for each in derived() if each.rule.id == rule.id), "")),
        (whose, rule.scenario),
        ("on failure", rule.on_failure or ""),
        ("level", rule.level),
        ("binds", f"{rule.binds}; judged is the {rule.judged}"),
        ("testability", rule.testability),
        ("reason", rule.reason),
        ("reading", rule.reading),
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


def targets_table() -> Table:
    """Give the known targets, and whether each can start here."""
    table = Table(box=None, pad_edge=False)
    for column, width in (("target", 28), ("starts here", 26), ("about", None)):
        table.add_column(column, overflow="fold", max_width=width)
    for known in known_targets():
        table.add_row(known.name, "yes" if known.starts_here else Text(f"no: {known.why}"), Text(known.about))
    return table
