from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

from spec.catalogue import catalogue
from spec.ledger import texts
from spec.readers.amqp1_0 import SUPPORT, TRANSPORT, Composite, Field, Restricted, grammar
from spec.readers.xml import DocumentError

GRAMMAR = grammar()


def schema(path: Path) -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(path.with_suffix(".rng")))


@pytest.mark.parametrize("path", [TRANSPORT, SUPPORT])
def test_file_is_of_its_schema(path: Path) -> None:
    checked = schema(path)
    assert checked.validate(etree.parse(path)), checked.error_log


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (TRANSPORT, 'mandatory="true"', 'mandatory="yes"'),
        (TRANSPORT, 'section="2.7.1" line="855"', 'part="1"'),
        (TRANSPORT, 'code="0x00000000:0x00000010"', 'code="16"'),
        (SUPPORT, 'judged="no"', 'judged="yes"'),
        (SUPPORT, 'category="fixed" width="8"', 'category="fixed" width="3"'),
        (SUPPORT, 'category="array" width="4"', 'category="array" width="0"'),
        (SUPPORT, '<described code="0x00" part="1"/>', ""),
    ],
)
def test_schema_refuses(tmp_path: Path, path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / path.name
    broken.write_text(text.replace(old, new), encoding="utf-8")
    assert not schema(path).validate(etree.parse(broken))


def test_counts_of_the_document() -> None:
    judged = [each for each in GRAMMAR.composites if each.origin.judged]
    assert len(judged) == 10
    assert [each.code for each in judged] == [*range(0x10, 0x19), 0x1D]
    assert sum(len(each.fields) for each in judged) == 68
    assert sum(each.origin.judged for each in GRAMMAR.restricted) == 17
    assert sum(each.origin.judged for each in GRAMMAR.constants) == 6
    assert not any(each.origin.judged for each in GRAMMAR.primitives)


def test_counts_of_what_it_leans_on() -> None:
    assert len(GRAMMAR.primitives) == 24
    assert len(GRAMMAR.constructors) == 39
    categories = Counter(encoding.category for _, encoding in GRAMMAR.constructors.values())
    assert categories == {"fixed": 27, "variable": 6, "compound": 4, "array": 2}


def test_codes_tell_their_category_and_width() -> None:
    """The upper half of a constructor octet is the category: a rule of Part 1 that catches slips."""
    widths = {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16, 0xA: 1, 0xB: 4, 0xC: 1, 0xD: 4, 0xE: 1, 0xF: 4}
    kinds = {0xA: "variable", 0xB: "variable", 0xC: "compound", 0xD: "compound", 0xE: "array", 0xF: "array"}
    for code, (_, encoding) in GRAMMAR.constructors.items():
        assert encoding.width == widths[code >> 4]
        assert encoding.category == kinds.get(code >> 4, "fixed")


def test_nine_performatives_stand_in_a_frame() -> None:
    names = "open begin attach flow transfer disposition detach end close"
    assert [each.name for each in GRAMMAR.providing("frame")] == names.split()
    assert len(GRAMMAR.providing("sasl-frame")) == 5
    assert [each.name for each in GRAMMAR.providing("outcome")] == [
        "accepted",
        "rejected",
        "released",
        "modified",
    ]


def test_descriptor_is_found_by_code_and_by_symbol() -> None:
    assert GRAMMAR.descriptors[0x18] is GRAMMAR.descriptors["amqp:close:list"] is GRAMMAR.types["close"]
    for each in GRAMMAR.composites:
        assert each.descriptor == f"amqp:{each.name}:list"


def test_fields_carry_what_the_document_says_of_them() -> None:
    fields = fields_of("open")
    assert len(fields) == 10
    assert fields["container-id"] == Field("container-id", "string", True, False, None, None)
    assert fields["max-frame-size"] == Field("max-frame-size", "uint", False, False, "4294967295", None)
    assert fields["incoming-locales"].multiple
    assert fields_of("attach")["source"] == Field("source", "*", False, False, None, "source")


def fields_of(name: str) -> dict[str, Field]:
    found = GRAMMAR.types[name]
    assert isinstance(found, Composite)
    return {each.name: each for each in found.fields}


@pytest.mark.parametrize(
    ("composite", "field", "default"),
    [
        ("open", "channel-max", "65535"),
        ("open", "hostname", None),
        ("attach", "snd-settle-mode", "2"),
        ("attach", "rcv-settle-mode", "0"),
        ("flow", "drain", "false"),
        ("source", "expiry-policy", "session-end"),
        ("source", "durable", "0"),
    ],
)
def test_default_is_a_value(composite: str, field: str, default: str | None) -> None:
    assert GRAMMAR.default(fields_of(composite)[field]) == default


@pytest.mark.parametrize(
    ("name", "primitive"),
    [
        ("uint", "uint"),
        ("milliseconds", "uint"),
        ("delivery-number", "uint"),
        ("ietf-language-tag", "symbol"),
        ("node-properties", "map"),
        ("error", "list"),
        ("role", "boolean"),
        ("*", "*"),
    ],
)
def test_every_type_leads_to_a_primitive_one(name: str, primitive: str) -> None:
    assert GRAMMAR.elementary(name) == primitive


def test_error_conditions() -> None:
    conditions = [each for each in GRAMMAR.providing("error-condition") if isinstance(each, Restricted)]
    values = [choice.value for each in conditions for choice in each.choices]
    assert len(values) == len(set(values)) == 25
    assert "amqp:connection:framing-error" in values
    assert "amqp:decode-error" in values


def test_headers_and_constants() -> None:
    octets = {each.name: each.octets for each in GRAMMAR.headers}
    assert octets == {"amqp": b"AMQP\0\1\0\0", "tls": b"AMQP\2\1\0\0", "sasl": b"AMQP\3\1\0\0"}
    assert GRAMMAR.values["MIN-MAX-FRAME-SIZE"] == 512
    assert {each.name: each.code for each in GRAMMAR.frame_types} == {"amqp": 0, "sasl": 1}


@pytest.mark.parametrize(
    ("path", "old", "new", "complaint"),
    [
        (TRANSPORT, "<grammar ", "<mqtt ", "root element is <mqtt>"),
        (TRANSPORT, ' value="5672"', "", "name='PORT'.* lacks the attribute 'value'"),
        (TRANSPORT, 'type="milliseconds"', 'type="minutes"', "open.idle-time-out is of the unknown type"),
        (TRANSPORT, 'name="handle" source="uint"', 'name="handle" source="unit"', "'handle' has the unknown"),
        (TRANSPORT, "0x00000011", "0x00000010", "the same descriptor"),
        (TRANSPORT, 'restricted name="seconds"', 'restricted name="role"', "the same name"),
        (
            TRANSPORT,
            '<descriptor name="amqp:end:list" code="0x00000000:0x00000017"/>',
            "",
            "'end'> lacks its",
        ),
        (TRANSPORT, 'requires="target"', 'requires="goal"', "nothing provides 'goal' for attach.target"),
        (SUPPORT, '<described code="0x00" part="1"/>', "", "exactly one <described>"),
        (SUPPORT, 'code="0xd1"', 'code="0xd0"', "the same code"),
        (SUPPORT, 'code="0xd1"', 'code="d one"', "not a grammar"),
    ],
)
def test_broken_grammar_is_refused(tmp_path: Path, path: Path, old: str, new: str, complaint: str) -> None:
    paths = {}
    for each in (TRANSPORT, SUPPORT):
        text = each.read_text(encoding="utf-8")
        if each == path:
            assert old in text
            text = text.replace(old, new).replace("</grammar>", "</mqtt>" if "mqtt" in new else "</grammar>")
        paths[each] = tmp_path / each.name
        paths[each].write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=complaint):
        grammar(paths[TRANSPORT], paths[SUPPORT])


def test_definitions_are_those_of_the_text() -> None:
    """Every definition on the line it is said to stand on, to the last attribute, and none left out."""
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    document = next(each for each in catalogue().documents if each.prefix == "1-0")
    lines = (folder / document.file).read_text(encoding="utf-8").split("\n")
    found = {number: line for number, line in enumerate(lines, 1) if line.startswith("<type ")}
    ours = etree.parse(TRANSPORT).getroot()
    types = [*ours.iter("composite", "restricted")]
    assert sorted(int(each.get("line", "")) for each in types) == sorted(found)
    for each in types:
        definition = etree.fromstring(found[int(each.get("line", ""))].strip())
        assert definition.get("class") == each.tag
        for name in ("name", "source", "provides"):
            assert definition.get(name) == each.get(name)
        assert [(part.tag, dict(part.attrib)) for part in definition] == [
            (part.tag, dict(part.attrib)) for part in each
        ]
    for constant in ours.iter("constant"):
        line = lines[int(constant.get("line", "")) - 1]
        assert line.startswith(f"{constant.get('name')}{constant.get('value')}")
