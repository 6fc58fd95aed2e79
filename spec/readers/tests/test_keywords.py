import pytest

from spec.readers.keywords import keywords, sentences, strongest
from spec.rules import Level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("The server MUST NOT do it.", Level.MUST),
        ("The client MUST not do it.", Level.MUST),
        ("It SHALL be so.", Level.MUST),
        ("It is REQUIRED.", Level.MUST),
        ("The client MAY NOT do it.", Level.MUST),
        ("It SHOULD be so and MAY be otherwise.", Level.SHOULD),
        ("It is NOT  RECOMMENDED.", Level.SHOULD),
        ("It is OPTIONAL.", Level.MAY),
        ("It must, shall, should and may be so.", None),
        ("MUSTARD is MAYBE not a keyword.", None),
    ],
)
def test_strongest_keyword_decides_the_level(text: str, level: Level | None) -> None:
    assert strongest(text) == level


def test_keywords_are_listed_in_order_lower_case_too() -> None:
    text = "It MUST NOT and should\n not be, but MAY; it may, and must."
    assert keywords(text) == ("MUST NOT", "should not", "MAY", "must")


def test_sentences_know_where_they_stand() -> None:
    text = "  One of them. I.e. a\n client, e.g. 2.0, here. Another"
    assert [each.text for each in sentences(text)] == [
        "One of them.",
        "I.e. a client, e.g. 2.0, here.",
        "Another",
    ]
    for each in sentences(text):
        assert " ".join(text[each.start : each.end].split()) == each.text


def test_levels_cover_what_is_stronger() -> None:
    assert Level.SHOULD.covers(Level.MUST)
    assert Level.MAY.covers(Level.MAY)
    assert not Level.MUST.covers(Level.SHOULD)
