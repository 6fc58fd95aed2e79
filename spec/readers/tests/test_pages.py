import dataclasses
from pathlib import Path

import pytest

from spec.catalogue import catalogue
from spec.ledger import texts
from spec.readers.keywords import fingerprint, keywords
from spec.readers.pages import FRONT, Cut, cuts
from spec.readers.xml import DocumentError
from spec.rules import Claim, Rule
from spec.statements import of_pages

FOOTER = "\n\nThe Standard v1\n\nPage {} of 9\n\nCopyright (c) Somebody.\n\nThe Rules\n\n"
FRONT_PAGE = (
    f"The Standard\n\nContents 1 Overview......3 2 The Rules.......4 2.1 Peers (All)......4{FOOTER.format(1)}"
)
BODY = f"2 The Rules 2.1 Peers (All) A peer MUST do it. It sends\n\nBoth.{FOOTER.format(2)}and\n\nNobody."


def ruled(identity: str, *claims: Claim) -> Rule:
    return dataclasses.replace(catalogue().rules[0], id=identity, claims=claims)


def found(text: str) -> list[tuple[str, str]]:
    return [(each.section, each.text) for each in cuts(text)]


def test_title_is_no_part_of_the_sentence() -> None:
    assert ("2.1", "A peer MUST do it.") in found(FRONT_PAGE + BODY)


def test_furniture_and_contents_are_left_out() -> None:
    text = " ".join(each.text for each in cuts(FRONT_PAGE + BODY))
    assert text == "The Standard A peer MUST do it. It sends Both. and Nobody."


def test_running_header_below_a_list_mark_is_left_out() -> None:
    page = FOOTER.format(2).replace("The Rules", "3.\n\nThe Rules") + "Either peer MUST."
    assert found(f"{FRONT_PAGE}2.1 Peers (All) It is so.{page}")[1:] == [
        ("2.1", "It is so."),
        ("2.1", "3."),
        ("2.1", "Either peer MUST."),
    ]


@pytest.mark.parametrize("rest", ["to another peer.", "ALL AS IT IS."])
def test_sentence_that_a_page_breaks_is_joined(rest: str) -> None:
    text = f"{FRONT_PAGE}2.1 Peers (All) A peer MUST send{FOOTER.format(2)}{rest} More."
    assert found(text)[1:] == [("2.1", f"A peer MUST send {rest}"), ("2.1", "More.")]


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("It is so.", "and more."),
        ('It is "so."', "and more."),
        ("These are:", "and more."),
        ("8 octets", "The header MUST come."),
        ("8 octets", "2 The Rules Another."),
    ],
)
def test_page_between_two_sentences_joins_nothing(above: str, below: str) -> None:
    assert len(found(f"{FRONT_PAGE}2.1 Peers (All) {above}{FOOTER.format(2)}{below}")) == 3


def test_blank_line_within_a_page_ends_a_sentence() -> None:
    assert found(f"{FRONT_PAGE}2.1 Peers (All) One\n\ntwo.")[1:] == [("2.1", "One"), ("2.1", "two.")]


def test_list_mark_is_white_space() -> None:
    assert found(f"{FRONT_PAGE}2.1 Peers (All) It MAY. \ue00c It MUST.")[1:] == [
        ("2.1", "It MAY."),
        ("2.1", "It MUST."),
    ]


def test_heading_that_the_contents_do_not_list() -> None:
    assert found("2.1.1.1 Bits A bit MUST.\n\nIt is 2.5.1.1 Large.\n\n1.5 Million.") == [
        ("2.1.1.1", "2.1.1.1 Bits A bit MUST."),
        ("2.1.1.1", "It is 2.5.1.1 Large."),
        ("2.1.1.1", "1.5 Million."),
    ]


def test_line_and_offset_lead_to_the_sentence_on_either_page() -> None:
    text = f"{FRONT_PAGE}2.1 Peers (All) One. A peer MUST send{FOOTER.format(2)}it all. Then  more."
    *_, one, joined, last = cuts(text)
    assert [(each.text, each.line) for each in (one, joined)] == [
        ("One.", 13),
        ("A peer MUST send it all.", 13),
    ]
    assert last == Cut("2.1", 23, text.index("Then"), "Then more.")
    assert text[joined.offset :].startswith("A peer MUST")


def test_rule_claims_a_sentence_of_two_pages(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(f"{FRONT_PAGE}2.1 Peers (All) A peer MUST send{FOOTER.format(2)}it.", encoding="utf-8")
    claim = Claim("2.1", 13, fingerprint("A peer MUST send it."))
    assert [each.rule for each in of_pages(path, (ruled("p/a", claim),))] == ["", "p/a"]
    with pytest.raises(DocumentError, match=r"text\.txt:13: p/a claims .*'A peer MUST send it\.'"):
        list(of_pages(path, (ruled("p/a", Claim("2.1", 13, "0" * 16)),)))


def test_of_the_text_itself_no_sentence_has_furniture_in_it() -> None:
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    text = (folder / "amqp0-9-1-specification.txt").read_text(encoding="utf-8")
    body = [each for each in cuts(text) if each.section != FRONT]
    for each in body:
        assert not any(furniture in each.text for furniture in ("Page ", "Copyright (c)", "v0-9-1", "....."))
        assert each.text not in ("Overview", "General Architecture", "Technical Specifications")
        assert text[each.offset :].startswith(each.text.split()[0])
    assert len({each.section for each in body}) == 82
    assert sum(bool(keywords(each.text)) for each in body) == 82
