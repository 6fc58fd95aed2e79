from collections import Counter
from pathlib import Path

import pytest

from spec.readers.amqp0_9_1 import DOCUMENT, grammar
from spec.readers.xml import DocumentError


def test_counts_of_the_document() -> None:
    assert len(grammar().classes) == 6
    assert len(grammar().methods) == 53
    assert len(grammar().domains) == 24
    assert len(grammar().constants) == 24


def test_every_class_by_its_index() -> None:
    indices = {each.name: each.index for each in grammar().classes}
    assert indices == {"connection": 10, "channel": 20, "exchange": 40, "queue": 50, "basic": 60, "tx": 90}
    assert len({(each.class_index, each.index) for each in grammar().methods.values()}) == 53


def test_constants_carry_their_class() -> None:
    classes = {each.value: each.error_class for each in grammar().constants}
    assert Counter(classes.values()) == {None: 7, "soft-error": 6, "hard-error": 11}
    assert [code for code, kind in classes.items() if kind == "soft-error"] == [311, 313, 403, 404, 405, 406]
    assert classes[402] == classes[504] == classes[540] == "hard-error"


def test_domains_lead_to_elementary_types_with_their_asserts() -> None:
    domains = {each.name: each for each in grammar().domains}
    assert domains["queue-name"].type == "shortstr"
    assert [(each.check, each.value) for each in domains["queue-name"].asserts] == [
        ("length", "127"),
        ("regexp", "^[a-zA-Z0-9-_.:]*$"),
    ]
    assert domains["reply-code"].asserts[0].check == "notnull"


def test_field_has_its_own_asserts_and_its_domain_s() -> None:
    declare = {each.name: each for each in grammar().methods["exchange.declare"].fields}
    assert [each.check for each in declare["exchange"].asserts] == ["notnull", "length", "regexp"]
    assert declare["reserved-1"].reserved
    assert declare["reserved-1"].type == "short"
    limit = grammar().methods["connection.tune-ok"].fields[0].asserts[-1]
    assert (limit.check, limit.method, limit.field) == ("le", "tune", "channel-max")


def test_methods_know_their_answers_and_who_implements_them() -> None:
    methods = grammar().methods
    assert methods["basic.get"].responses == ("get-ok", "get-empty")
    assert methods["basic.recover-async"].chassis == {"server": "MAY"}
    assert methods["basic.recover-async"].deprecated
    assert methods["basic.publish"].content
    assert not methods["basic.publish"].synchronous


def test_every_answer_is_a_method_of_the_same_class() -> None:
    for method in grammar().methods.values():
        for response in method.responses:
            assert f"{method.class_name}.{response}" in grammar().methods


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (' minor="9"', "", "<amqp> lacks the attribute 'minor'"),
        (
            '<constant name="frame-end" value="206"/>',
            '<constant name="frame-end"/>',
            "name='frame-end'.* 'value'",
        ),
        (
            '<class name="tx" handler="channel" index="90"',
            '<class name="tx" handler="channel"',
            "'tx'.*'index'",
        ),
        ('index="90"', 'index="ninety"', "ninety"),
        ('domain="queue-name"', 'domain="cue-name"', "unknown domain 'cue-name'"),
        ('<response name="start-ok"/>', "<response/>", "<response> lacks the attribute 'name'"),
    ],
)
def test_broken_definition_is_refused_with_its_element(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "broken.xml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(DocumentError, match=rf"broken\.xml.*{complaint}"):
        grammar(path)


def test_other_root_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.xml"
    path.write_text("<mqtt/>", encoding="utf-8")
    with pytest.raises(DocumentError, match="root element is <mqtt>"):
        grammar(path)
