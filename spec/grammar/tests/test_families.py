"""The file of families: what is wrong in one is said in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec.grammar.amqp0_9_1.families import FILE, families
from spec.grammar.families import Family
from spec.readers.xml import DocumentError
from spec.rules import Level, Testability

TEXT = FILE.read_text(encoding="utf-8")
BIT = families().by_key["bit"]


def altered(folder: Path, old: str, new: str) -> Path:
    """Give the file with the first occurrence of `old` replaced."""
    assert old in TEXT
    path = folder / "families.toml"
    path.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    return path


def test_texts_that_are_shared_are_filled_in_and_folded() -> None:
    said = families().by_key["kept-level"].reason
    assert said.startswith(
        "4.8.1 couples the class of an error and what is closed only as the usual case. Which"
    )
    assert "\n" not in said
    assert not any("{" in f"{each.reason}{each.reading}" for each in families().by_key.values())


def test_every_shared_text_is_used_more_than_once() -> None:
    shared = TEXT.partition("\n[shared]")[2].partition("[constraints]")[0]
    for name in (line.partition(" = ")[0] for line in shared.splitlines() if " = " in line):
        assert TEXT.count(f"{{{name}}}") > 1, name


def test_a_member_is_as_its_family_says_but_for_what_is_said_of_it() -> None:
    table = families().by_key["table"]
    assert table.of("boolean") == table
    assert (table.level, table.of("long-int").level, table.of("long-uint").level) == (
        Level.MUST,
        Level.MUST,
        Level.SHOULD,
    )
    closes = families().by_key["carries"].of("connection.close.reply-text")
    assert closes.testability is Testability.UNTESTABLE
    assert "for people" in closes.reason


def test_what_is_seen_is_added() -> None:
    made = Family("a", "b", "c", "d", Level.MUST, see=("0-9-1/x",), members={"m": {"see": ("0-9-1/y",)}})
    assert made.of("m").see == ("0-9-1/x", "0-9-1/y")
    assert made.of("n").see == ("0-9-1/x",)


def test_only_the_listed_bits_have_a_rule() -> None:
    assert BIT.listed
    assert all(said["decides"] and said["trial"] and said["reading"] for said in BIT.members.values())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("\n[shared]", "\n[common]", "has [shared], [constraints], [types] and [[family]], nothing else."),
        ('key = "answers"', 'key = "implemented"', "two families are called 'implemented'."),
        ('key = "answers"\n', "", "[family ?] lacks the key 'key'."),
        ('key = "answers"', "key = 1", "[family 1] has no text under 'key'."),
        ('level = "must"\n', "", "[family answers] lacks the key 'level'."),
        ('level = "must"', 'level = "shall"', "[family answers] has the unknown level 'shall'; it can"),
        (
            'level = "must"',
            'level = "must"\nlevels = 1',
            "[family answers] has the superfluous key 'levels'.",
        ),
        ('name = "answers"', 'name = " "', "[family answers] has no text under 'name'."),
        (
            "A server {duty}",
            "A server {dutie}",
            "[family answers] has {dutie} under 'text', which stands for",
        ),
        (
            'reason = "{reaction}"',
            'reason = "{action}"',
            "[family assert] has {action} under 'reason', which",
        ),
        (
            "listed = true",
            'listed = "yes"',
            "[family field-told] says neither true nor false under 'listed'.",
        ),
        (
            'of = ["basic.reject"]',
            'of = "basic.reject"',
            "[family implemented] has no list of names under 'of'.",
        ),
        (
            'of = ["basic.reject"]',
            'of = ["basic.recover"]',
            "[family implemented] has the member 'basic.recover' twice.",
        ),
        (
            'of = ["basic.reject"]',
            'of = ["basic.reject"]\nwhy = "so"',
            "[family implemented, basic.reject] has the superfluous key 'why'.",
        ),
        ('t = "boolean"', 't = ""', "[types] has no text under 't'."),
        ("\n[shared]", "\nshared]", "cannot be read: "),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = altered(tmp_path, old, new)
    with pytest.raises(DocumentError) as raised:
        families(path)
    assert str(raised.value).startswith(f"{path}: {says}")
