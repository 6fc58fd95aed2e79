"""The rules of a vendor's guides: several files, one document."""

from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS, catalogue, index
from spec.ledger import texts
from spec.readers.guides import guides
from spec.readers.xml import DocumentError
from spec.rules import Claim, Level, Party, Rule, Testability

RULES = tuple(rule for rule in catalogue().rules if rule.document == "rabbitmq")
HASH = "0123456789abcdef"
ABOUT = 'title="T" at="v.example/t" revision="4.2, 2025"'
PLAIN = {"name": "r", "level": "must", "binds": "server", "judged": "server", "testability": "active"}
TIED = {"line": "3", "sha256": HASH}
DOCS = '<doc>It is so.</doc><doc type="scenario">Try it.</doc>'


def rule(inside: str = DOCS, **changes: str) -> str:
    attributes = " ".join(f'{name}="{value}"' for name, value in (PLAIN | changes).items() if value)
    return f"<rule {attributes}>{inside}</rule>"


def guide(section: str, *rules: str) -> str:
    named = f'section="{section}" ' if section else ""
    return "\n".join((f"<guide {named}{ABOUT}>", *rules, "</guide>"))


def read(folder: Path, *files: str) -> tuple[Rule, ...]:
    paths = [folder / f"{number}.xml" for number in range(1, len(files) + 1)]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text, encoding="utf-8")
    return guides(paths, "v")


def complaint(folder: Path, *files: str) -> str:
    with pytest.raises(DocumentError) as caught:
        read(folder, *files)
    return str(caught.value).removeprefix(f"{folder}/")


def test_rule_is_read_whole(tmp_path: Path) -> None:
    inside = f'{DOCS}<doc type="reason">Be\n  cause.</doc><doc type="reading">Legal.</doc>'
    changes = {"on-failure": "not-found", "see": "v/t.other\n q/rule", "versions": ">=4.0,&lt;4.3"}
    (found,) = read(tmp_path, guide("t", rule(inside, **changes)))
    assert (found.id, found.document, found.section, found.name) == ("v/t.r", "v", "t", "r")
    assert (found.text, found.scenario, found.scenario_is_ours) == ("It is so.", "Try it.", True)
    assert (found.level, found.binds, found.judged) == (Level.MUST, Party.SERVER, Party.SERVER)
    assert (found.reason, found.reading) == ("Be cause.", "Legal.")
    assert (found.testability, found.on_failure) == (Testability.ACTIVE, "not-found")
    assert found.related == ("v/t.other", "q/rule")
    assert found.versions == ">=4.0,<4.3"
    assert (found.claims, str(found.place)) == ((), "section t / rule r")


def test_source_is_what_the_root_says_or_the_rule_itself(tmp_path: Path) -> None:
    first, second = read(tmp_path, guide("t", rule(), rule(name="s", source="Another\n one (x), 2, 2024")))
    assert first.source == "T (v.example/t), 4.2, 2025"
    assert second.source == "Another one (x), 2, 2024"
    assert first.is_in_our_words


def test_rule_may_be_tied_to_the_text_at_hand(tmp_path: Path) -> None:
    inside = f'<also section="a.b" line="9" sha256="{HASH}"/>{DOCS}'
    (found,) = read(tmp_path, guide("t", rule(inside, section="a.b-ok.c", **TIED)))
    assert found.claims == (Claim("a.b-ok.c", 3, HASH), Claim("a.b", 9, HASH))
    assert found.place.line == 3


def test_guide_without_a_section_goes_by_methods(tmp_path: Path) -> None:
    (found,) = read(tmp_path, guide("", rule(section="basic.nack.multiple")))
    assert found.id == "v/basic.nack.multiple.r"
    assert [found.named(each) for each in ("class", "method", "field")] == ["basic", "nack", "multiple"]
    assert str(found.place) == "class basic / method nack / field multiple / rule r"
    (found,) = read(tmp_path, guide("t", rule(section="basic.nack")))
    assert (found.id, found.named("method")) == ("v/basic.nack.r", None)


def test_guides_are_one_document(tmp_path: Path) -> None:
    inside = f'{DOCS}<doc type="reading">As in v/u.r, legal.</doc>'
    found = read(tmp_path, guide("t", rule(inside)), guide("u", rule()))
    assert [each.id for each in found] == ["v/t.r", "v/u.r"]


@pytest.mark.parametrize("name", PLAIN)
def test_missing_attribute(tmp_path: Path, name: str) -> None:
    assert complaint(tmp_path, guide("t", rule(**{name: ""}))).startswith("1.xml:2: ")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Two Words"},
        {"section": "A"},
        {"section": "a..b"},
        {"line": "3"},
        {"sha256": HASH},
        {**TIED, "line": "0"},
        {**TIED, "sha256": "0123"},
        {"level": "perhaps"},
        {"binds": "nobody"},
        {"judged": "all"},
        {"testability": "hard"},
        {"colour": "red"},
        {"see": " "},
        {"source": " "},
        {"versions": " "},
    ],
)
def test_attribute_that_is_none(tmp_path: Path, changes: dict[str, str]) -> None:
    assert complaint(tmp_path, guide("t", rule(**changes))).startswith("1.xml:2: ")


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "<doc>It is.</doc>",
        "<doc> </doc><doc type='scenario'>Try.</doc>",
        "<doc type='scenario'>Try.</doc><doc>It is.</doc>",
        f"{DOCS}<doc type='opinion'>Good.</doc>",
        f"{DOCS}<doc type='reason'/>",
        f"<also section='a' line='9' sha256='{HASH}'/>{DOCS}",
    ],
)
def test_rule_of_another_shape(tmp_path: Path, inside: str) -> None:
    assert complaint(tmp_path, guide("t", rule(inside))).startswith("1.xml:2: ")


@pytest.mark.parametrize(
    "text",
    [
        guide("t"),
        guide("t", rule()).replace('title="T" ', ""),
        guide("t", rule()).replace('at="v.example/t" ', ""),
        guide("t", rule()).replace('revision="4.2, 2025"', ""),
        guide("t", rule()).replace('section="t"', 'section="T T"'),
        guide("t", rule()).replace('section="t"', 'section="t" prefix="v"'),
        f'<document prefix="v" title="T" revision="R" text="t.txt" sha256="{HASH * 4}">{rule()}</document>',
    ],
)
def test_root_of_another_shape(tmp_path: Path, text: str) -> None:
    assert complaint(tmp_path, text).startswith("1.xml:1: ")


def test_rule_in_no_section(tmp_path: Path) -> None:
    assert complaint(tmp_path, guide("", rule())) == (
        "1.xml:2: r has no section, and its guide has none either"
    )


@pytest.mark.parametrize("versions", ["4.0", "since 4.0", ">= four", ">=1.\N{SUPERSCRIPT TWO}"])
def test_versions_that_are_no_range(tmp_path: Path, versions: str) -> None:
    said = complaint(tmp_path, guide("t", rule(), rule(name="s", versions=versions.replace(">", "&gt;"))))
    assert said == f'1.xml:3: versions {versions!r} is not a range like ">=3.10,<3.11"'


def test_two_rules_of_one_name_in_whatever_files(tmp_path: Path) -> None:
    said = complaint(tmp_path, guide("t", rule()), guide("u", rule(), rule(section="t")))
    assert said == f"2.xml:3: two rules are called v/t.r (first: {tmp_path}/1.xml:2)"


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"testability": "untestable"}, "its testability is 'untestable'"),
        ({"testability": "needs a client under test"}, "its testability is 'needs a client under test'"),
        ({"binds": "client"}, "it binds the client but the server is judged"),
    ],
)
def test_missing_reason(tmp_path: Path, changes: dict[str, str], cause: str) -> None:
    said = complaint(tmp_path, guide("t", rule(name="a"), rule(**changes)))
    assert said == f"1.xml:3: [v/t.r] needs a reason, because {cause}."
    assert read(tmp_path, guide("t", rule(f'{DOCS}<doc type="reason">Because.</doc>', **changes)))


@pytest.mark.parametrize("kind", ["reason", "reading"])
def test_reference_to_a_rule_that_is_in_no_guide(tmp_path: Path, kind: str) -> None:
    inside = f'{DOCS}<doc type="{kind}">As in v/u.other, legal.</doc>'
    said = complaint(tmp_path, guide("u", rule()), guide("t", rule(inside)))
    assert said == "2.xml:2: [v/t.r] refers to v/u.other, which is no rule."


def test_same_sentence_twice(tmp_path: Path) -> None:
    inside = f'<also section="t" line="3" sha256="{HASH}"/>{DOCS}'
    said = complaint(tmp_path, guide("t", rule(inside, **TIED)))
    assert said == "1.xml:2: [v/t.r] claims the same sentence twice."


@pytest.mark.parametrize("see", ["q/r q/r", "v/t.r"])
def test_sees_a_rule_twice_or_itself(tmp_path: Path, see: str) -> None:
    said = complaint(tmp_path, guide("t", rule(see=see)))
    assert said == "1.xml:2: [v/t.r] sees a rule twice, or itself."


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('product = "RabbitMQ"\n', "", "lacks the key 'product'."),
        ("guides = [\n", "guidance = [\n", "lacks the key 'guides'."),
        ("guides = [\n", "guides = [\n1,", "has no list of names under 'guides'."),
        ('text = "rabbitmq-', 'texts = "rabbitmq-', "lacks the key 'text'."),
    ],
)
def test_what_is_wrong_with_the_entry_is_said(folder: Path, old: str, new: str, says: str) -> None:
    path = folder / "index.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(DocumentError) as raised:
        catalogue(folder)
    assert str(raised.value) == f"{path}: [rabbitmq] {says}"


def test_every_guide_in_the_folder_is_read() -> None:
    entry = index()["rabbitmq"]
    there = {path.relative_to(DOCUMENTS).as_posix() for path in (DOCUMENTS / "rabbitmq").glob("*.xml")}
    assert there == {entry["file"], *entry["guides"]}


def test_rules_stand_in_the_order_of_the_published_identities() -> None:
    published = (DOCUMENTS / "rabbitmq" / "identities.txt").read_text(encoding="utf-8").split()
    assert published == [each.id for each in RULES]


def test_what_only_a_client_shows_judges_the_client() -> None:
    for each in RULES:
        assert each.judged == Party.CLIENT or each.testability != Testability.CLIENT, each.id


def test_every_refusal_has_a_reading_that_says_what_a_miss_is() -> None:
    for each in RULES:
        if each.on_failure:
            assert all(word in each.reading for word in ("miss", "Preferred")), each.id


def test_no_sentence_is_copied() -> None:
    """Our words are ours: no run of eight of them stands in the text."""
    home = texts()
    if home is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    theirs = f" {' '.join((home / index()['rabbitmq']['text']).read_text(encoding='utf-8').lower().split())} "
    copied = [
        (each.id, run)
        for each in RULES
        for ours in map(str.split, map(str.lower, (each.text, each.scenario, each.reason, each.reading)))
        for run in (" ".join(ours[start : start + 8]) for start in range(len(ours) - 7))
        if f" {run} " in theirs
    ]
    assert copied == []
