from pathlib import Path

import pytest

from spec.catalogue import catalogue
from spec.readers.keywords import fingerprint
from spec.readers.xml import DocumentError
from spec.rules import Claim, Rule
from spec.statements import of_text, verified

TEXT = """Front matter must not count. Second.

1.1 A Heading
      1.2 Not One
1.1.1 Another

A peer MUST do it. It is  so. A peer MAY, too
1.2 A Third
The end.
"""


def written(folder: Path, text: str = TEXT) -> Path:
    path = folder / "text.txt"
    path.write_text(text, encoding="utf-8")
    return path


def ruled(identity: str, *claims: Claim) -> Rule:
    like = catalogue().rules[0]
    return Rule(**{name: getattr(like, name) for name in Rule.__slots__} | {"id": identity, "claims": claims})


MUST = Claim("1.1.1", 7, fingerprint("A peer MUST do it."))


def test_sentences_know_section_line_and_offset(tmp_path: Path) -> None:
    found = list(of_text(written(tmp_path), ()))
    assert [(each.section, each.line, each.text) for each in found] == [
        ("front", 1, "Front matter must not count."),
        ("front", 1, "Second."),
        ("1.1", 3, "1.1 A Heading"),
        ("1.1", 4, "1.2 Not One"),
        ("1.1.1", 5, "1.1.1 Another"),
        ("1.1.1", 7, "A peer MUST do it."),
        ("1.1.1", 7, "It is so."),
        ("1.1.1", 7, "A peer MAY, too"),
        ("1.2", 8, "1.2 A Third"),
        ("1.2", 9, "The end."),
    ]
    for each in found:
        assert TEXT[each.offset :].startswith(each.text.split()[0])


def test_sentence_is_claimed_by_each_rule_that_names_it(tmp_path: Path) -> None:
    other = Claim("1.2", 9, fingerprint("The end."))
    rules = (ruled("p/a", MUST), ruled("p/b", MUST, other), ruled("p/c"))
    claimed = [each for each in of_text(written(tmp_path), rules) if each.rule]
    assert [(each.rule, each.text) for each in claimed] == [
        ("p/a", "A peer MUST do it."),
        ("p/b", "A peer MUST do it."),
        ("p/b", "The end."),
    ]


@pytest.mark.parametrize(
    "claim",
    [
        Claim("1.1", 7, MUST.sha256),
        Claim("1.1.1", 8, MUST.sha256),
        Claim("1.1.1", 7, fingerprint("A peer MUST not.")),
        Claim("1.1.1", 99, MUST.sha256),
    ],
)
def test_claim_of_what_is_not_there_is_refused(tmp_path: Path, claim: Claim) -> None:
    path = written(tmp_path)
    with pytest.raises(
        DocumentError, match=rf"text\.txt:{claim.line}: p/a claims .*, which is not there; there is: "
    ):
        list(of_text(path, (ruled("p/a", claim),)))


def test_complaint_tells_what_does_stand_there(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=rf"1\.1\.1 {MUST.sha256} 'A peer MUST do it\.'; 1\.1\.1 "):
        list(of_text(written(tmp_path), (ruled("p/a", Claim("1.1.1", 7, "0" * 16)),)))


def test_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"text\.txt: cannot be read"):
        list(of_text(tmp_path / "text.txt", ()))
    (tmp_path / "text.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DocumentError, match=r"text\.txt: cannot be read"):
        list(of_text(tmp_path / "text.txt", ()))


def test_only_the_judged_text_is_accepted(tmp_path: Path) -> None:
    path = written(tmp_path, "abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert verified(path, digest) == path
    with pytest.raises(DocumentError, match=f"is not the judged text: its SHA-256 is {digest}, not 00"):
        verified(path, "00")
    with pytest.raises(DocumentError, match="cannot be read"):
        verified(tmp_path / "nowhere.txt", digest)
