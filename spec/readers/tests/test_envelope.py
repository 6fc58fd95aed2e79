import re
from collections import Counter
from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS, catalogue
from spec.ledger import texts
from spec.readers.amqp1_0 import Restricted, grammar
from spec.readers.envelope import envelope
from spec.readers.xml import DocumentError
from spec.rules import Claim, Level, Party, Role, Rule, Testability

RULES = tuple(rule for rule in catalogue().rules if rule.document == "1-0")
HASH = "0123456789abcdef"
ROOT = f'<document prefix="p" title="T" revision="R" text="t.txt" sha256="{HASH * 4}">'
PLAIN = {
    "name": "r",
    "section": "1.2",
    "line": "3",
    "sha256": HASH,
    "level": "must",
    "binds": "peer",
    "judged": "server",
    "testability": "active",
}
DOCS = '<doc>It MUST be so.</doc><doc type="scenario">Try it.</doc>'


def rule(inside: str = DOCS, **changes: str) -> str:
    attributes = " ".join(f'{name}="{value}"' for name, value in (PLAIN | changes).items() if value)
    return f"<rule {attributes}>{inside}</rule>"


def read(folder: Path, *rules: str) -> tuple[Rule, ...]:
    path = folder / "rules.xml"
    path.write_text("\n".join((ROOT, *rules, "</document>")), encoding="utf-8")
    return envelope(path, "p").rules


def complaint(folder: Path, *rules: str) -> str:
    with pytest.raises(DocumentError) as caught:
        read(folder, *rules)
    assert str(caught.value).startswith(f"{folder}/rules.xml:")
    return str(caught.value)


def test_rule_is_read_whole(tmp_path: Path) -> None:
    inside = f'<also section="1.3" line="9" sha256="{HASH}"/>{DOCS}<doc type="reason">Be\n  cause.</doc>'
    changes = {"on-failure": "amqp:decode-error", "see": "p/1.3.other\n q/rule"}
    (found,) = read(tmp_path, rule(f'{inside}<doc type="reading">Legal.</doc>', **changes))
    assert (found.id, found.document, found.section, found.name) == ("p/1.2.r", "p", "1.2", "r")
    assert (found.text, found.scenario, found.scenario_is_ours) == ("It MUST be so.", "Try it.", True)
    assert (found.level, found.binds, found.judged) == (Level.MUST, Party.PEER, Party.SERVER)
    assert (found.reason, found.reading) == ("Be cause.", "Legal.")
    assert found.testability == Testability.ACTIVE
    assert found.on_failure == "amqp:decode-error"
    assert found.related == ("p/1.3.other", "q/rule")
    assert found.claims == (Claim("1.2", 3, HASH), Claim("1.3", 9, HASH))
    assert str(found.place) == "section 1.2 / rule r (line 3)"


def test_a_duty_of_clients_may_be_left_to_their_applications(tmp_path: Path) -> None:
    (found,) = read(tmp_path, rule(**{"left-to": "application"}))
    assert found.left_to is Party.APPLICATION
    assert "the duty is that of the application" in found.beyond(Role.CLIENT)
    assert not found.beyond(Role.SERVER)
    complaint(tmp_path, rule(**{"left-to": "server"}))


def test_document_is_what_the_root_says(tmp_path: Path) -> None:
    read(tmp_path, rule())
    found = envelope(tmp_path / "rules.xml", "p")
    assert (found.title, found.revision, found.text, found.sha256) == ("T", "R", "t.txt", HASH * 4)


@pytest.mark.parametrize("name", PLAIN)
def test_missing_attribute(tmp_path: Path, name: str) -> None:
    assert "rules.xml:2: " in complaint(tmp_path, rule(**{name: ""}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "Two Words"),
        ("section", "1.x"),
        ("line", "0"),
        ("sha256", "0123"),
        ("level", "perhaps"),
        ("binds", "nobody"),
        ("judged", "all"),
        ("testability", "hard"),
        ("colour", "red"),
        ("see", " "),
    ],
)
def test_attribute_that_is_none(tmp_path: Path, name: str, value: str) -> None:
    assert "rules.xml:2: " in complaint(tmp_path, rule(**{name: value}))


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "<doc>It MUST.</doc>",
        "<doc> </doc><doc type='scenario'>Try.</doc>",
        "<doc type='scenario'>Try.</doc><doc>It MUST.</doc>",
        f"{DOCS}<doc type='opinion'>Good.</doc>",
        f"{DOCS}<doc type='reason'/>",
        f"<also section='1.3' line='9'/>{DOCS}",
    ],
)
def test_rule_of_another_shape(tmp_path: Path, inside: str) -> None:
    assert re.search(r"rules\.xml:[23]: ", complaint(tmp_path, rule(inside)))


def test_no_rule_at_all(tmp_path: Path) -> None:
    assert "rules.xml:1: " in complaint(tmp_path)


def test_other_prefix(tmp_path: Path) -> None:
    read(tmp_path, rule())
    with pytest.raises(DocumentError, match="is of the prefix p, not q"):
        envelope(tmp_path / "rules.xml", "q")


def test_two_rules_of_one_name(tmp_path: Path) -> None:
    assert complaint(tmp_path, rule(), rule()).endswith("rules.xml:3: two rules are called p/1.2.r")
    assert len(read(tmp_path, rule(), rule(section="1.3"))) == 2


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"testability": "untestable"}, "its testability is 'untestable'"),
        ({"testability": "needs a client under test"}, "its testability is 'needs a client under test'"),
        ({"binds": "client"}, "it binds the client but the server is judged"),
    ],
)
def test_missing_reason(tmp_path: Path, changes: dict[str, str], cause: str) -> None:
    assert complaint(tmp_path, rule(**changes)).endswith(f"[p/1.2.r] needs a reason, because {cause}.")
    assert read(tmp_path, rule(f'{DOCS}<doc type="reason">Because.</doc>', **changes))


@pytest.mark.parametrize("kind", ["reason", "reading", "unseen-on-clients"])
def test_reference_to_no_rule(tmp_path: Path, kind: str) -> None:
    inside = f'{DOCS}<doc type="{kind}">As in p/1.2.other, legal.</doc>'
    assert complaint(tmp_path, rule(inside)).endswith("[p/1.2.r] refers to p/1.2.other, which is no rule.")


def test_rule_that_servers_alone_show(tmp_path: Path) -> None:
    inside = f'{DOCS}<doc type="unseen-on-clients">None listens.</doc>'
    (found,) = read(tmp_path, rule(inside))
    assert found.beyond(Role.CLIENT) == "None listens."
    assert not found.beyond(Role.SERVER)
    said = complaint(tmp_path, rule(inside, binds="server"))
    assert said.endswith("[p/1.2.r] says why clients do not show it, whom it does not bind.")


def test_same_sentence_twice(tmp_path: Path) -> None:
    inside = f'<also section="1.2" line="3" sha256="{HASH}"/>{DOCS}'
    assert complaint(tmp_path, rule(inside)).endswith("[p/1.2.r] claims the same sentence twice.")


@pytest.mark.parametrize("see", ["q/r q/r", "p/1.2.r"])
def test_sees_a_rule_twice_or_itself(tmp_path: Path, see: str) -> None:
    assert complaint(tmp_path, rule(see=see)).endswith("[p/1.2.r] sees a rule twice, or itself.")


def test_document_about_the_protocol_of_another(tmp_path: Path) -> None:
    path = tmp_path / "rules.xml"
    text = f"{ROOT}{rule()}</document>".replace('prefix="p"', 'prefix="p/prose"')
    path.write_text(text, encoding="utf-8")
    assert envelope(path, "p/prose").rules[0].id == "p/prose/1.2.r"
    path.write_text(text.replace("p/prose", "p/prose/more"), encoding="utf-8")
    with pytest.raises(DocumentError, match="failed to validate attributes"):
        envelope(path, "p/prose/more")


def test_reference_to_a_document_below_is_not_of_this_one(tmp_path: Path) -> None:
    inside = f'{DOCS}<doc type="reading">As in p/prose/1.2.other and p/1.2.r, legal.</doc>'
    assert read(tmp_path, rule(inside))


def test_counts_of_the_committed_file() -> None:
    assert len(RULES) == 323
    assert Counter(rule.level for rule in RULES) == {Level.MUST: 211, Level.SHOULD: 102, Level.MAY: 10}
    assert Counter(rule.testability for rule in RULES) == {
        Testability.ACTIVE: 245,
        Testability.PASSIVE: 60,
        Testability.UNTESTABLE: 8,
        Testability.CLIENT: 10,
    }


def test_rules_stand_in_the_order_of_their_sections_and_of_the_published_identities() -> None:
    sections = [tuple(map(int, rule.section.split("."))) for rule in RULES]
    assert sections == sorted(sections)
    published = (DOCUMENTS / "amqp1-0-part2.identities.txt").read_text(encoding="utf-8").split()
    assert published == [rule.id for rule in RULES]


def test_what_only_a_client_shows_judges_the_client() -> None:
    for each in RULES:
        assert (each.judged == Party.CLIENT) == (each.testability == Testability.CLIENT), each.id


OTHERS = {
    "amqp:open:list", "amqp:close:list", "amqp:error:list", "amqp:transaction",
    "amqp:connection", "amqp:session", "amqp:link",
}  # fmt: skip
"""What begins like a condition and is none: descriptors, and how those of a level begin."""


def test_conditions_named_are_those_of_the_grammar() -> None:
    kinds = [each for each in grammar().providing("error-condition") if isinstance(each, Restricted)]
    conditions = {choice.value for kind in kinds for choice in kind.choices}
    assert {each.on_failure for each in RULES if each.on_failure} <= conditions
    for each in RULES:
        said = set(re.findall(r"\bamqp:[a-z:\-]*[a-z]", f"{each.text} {each.scenario} {each.reading}"))
        assert said - OTHERS <= conditions, each.id


def test_what_is_a_may_is_recorded() -> None:
    for each in RULES:
        if each.level == Level.MAY and each.testability != Testability.UNTESTABLE:
            assert "recorded" in each.reading, each.id


def test_every_refusal_that_no_sentence_demands_has_a_reading() -> None:
    for each in RULES:
        if each.on_failure:
            words = ("miss", "Preferred") if each.level == Level.SHOULD else ("miss", "demanded")
            assert all(word in each.reading for word in words), each.id


def test_no_sentence_is_copied() -> None:
    """Our words are ours: no run of eight of them stands in the text."""
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    document = next(each for each in catalogue().documents if each.prefix == "1-0")
    theirs = f" {' '.join(words((folder / document.file).read_text(encoding='utf-8')))} "
    for each in RULES:
        for ours in map(words, (each.text, each.scenario, each.reason, each.reading)):
            for start in range(len(ours) - 7):
                run = " ".join(ours[start : start + 8])
                assert f" {run} " not in theirs, (each.id, run)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9\-]+", text.lower())
