import copy
import json
import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]

from reports.audit import claims as module
from reports.audit.claims import DAY, MEANINGS, RANGE, ClaimsError, Meaning, Subject, load, meaning, read
from reports.audit.claims_join import join
from spec.catalogue import catalogue

ROOT = Path(__file__).parents[3]
RABBITMQ = ROOT / "ci" / "claims" / "rabbitmq.toml"
SCHEMA = json.loads((ROOT / "reports" / "audit" / "claims.schema.json").read_text(encoding="utf-8"))
GOOD: dict[str, Any] = {
    "vendor": "Example",
    "product": "ExampleMQ",
    "title": "Conformance",
    "source": "the page",
    "document": "0-9-1",
    "date": "2026-01-31",
    "versions": ">=3,<4",
    "statuses": {"ok": "kept", "doesn't": {"means": "not-kept", "at": {"MAY": "unused"}}},
    "claim": [
        {"rule": "0-9-1/queue.bind.unique", "status": "ok", "level": "MUST NOT", "versions": ">=3.2"},
        {"method": "queue.bind", "status": ["ok"], "note": "as of today"},
        {"class": "queue", "status": "doesn't", "document": "1-0"},
        {"prose": "4.2.3 frame-end", "section": "4.2.3", "rules": ["0-9-1/prose/a"], "status": ["ok", "ok"]},
    ],
}


def agree(data: dict[str, Any]) -> bool:
    """Demand that schema and reader say the same of `data`; give what they say."""
    valid = bool(Draft202012Validator(SCHEMA, format_checker=FormatChecker()).is_valid(data))
    try:
        read(data, "claims.toml")
        readable = True
    except ClaimsError:
        readable = False
    assert valid == readable
    return valid


def test_a_good_file_is_read_whole() -> None:
    told = read(GOOD, "claims.toml")
    assert (told.vendor, told.product, told.date) == ("Example", "ExampleMQ", date(2026, 1, 31))
    first, second, third, fourth = told.claims
    assert (first.number, first.subject, first.name) == (1, Subject.RULE, "0-9-1/queue.bind.unique")
    assert (first.level, str(first.versions)) == ("MUST NOT", ">=3.2")
    assert (second.subject, str(second.versions), second.note) == (Subject.METHOD, "<4,>=3", "as of today")
    assert (third.subject, third.meaning, third.document) == (Subject.CLASS, Meaning.NOT_KEPT, "1-0")
    assert (fourth.subject, fourth.section, fourth.rules) == (Subject.PROSE, "4.2.3", ("0-9-1/prose/a",))
    assert agree(GOOD)


def test_the_documented_format_is_the_format() -> None:
    example = "\n".join(line for line in (module.__doc__ or "").splitlines() if line.startswith("    "))
    told = read(tomllib.loads(example.replace("    ", "")), "example")
    assert [each.meaning for each in told.claims] == [Meaning.PARTLY, Meaning.KEPT]


def without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda data: data.pop(key)


def put(value: object, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


WRONG: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (without("vendor"), "vendor: is missing"),
    (without("statuses"), "statuses: is missing"),
    (without("document"), "document: is missing"),
    (put(" ", "title"), "title: must be a text that says something"),
    (put(3, "source"), "source: must be a text"),
    (put("x", "colour"), "colour: there is no such key"),
    (put([], "statuses"), "statuses: must be a table"),
    (put("fine", "statuses", "ok"), "statuses: 'ok': must be one of kept, partly"),
    (put({"means": "kept"}, "statuses", "ok"), "statuses: 'ok': at: is missing"),
    (put({"means": "kept", "at": {"MAY": 1}}, "statuses", "ok"), "'ok': at: 'MAY': must be one of"),
    (put({"means": "kept", "at": {}, "x": 1}, "statuses", "ok"), "'ok': x: there is no such key"),
    (put("kept", "statuses", ""), "statuses: must be a text"),
    (put("20260131", "date"), "date: must be a date like"),
    (put("2026-02-30", "date"), "date: must be a date like"),
    (put(7, "date"), "date: must be a date like"),
    (put("3.x", "versions"), "versions: must be a range"),
    (put({}, "claim"), "claim: must be [[claim]] tables"),
    (put("x", "claim", 0), "entry 1: must be a table"),
    (put("x", "claim", 1, "rule"), "entry 2: needs exactly one of"),
    (put({"status": "ok"}, "claim", 2), "entry 3: needs exactly one of"),
    (put({"class": "x"}, "claim", 2), "entry 3: status: is missing"),
    (put([], "claim", 0, "status"), "entry 1: status: must be a list"),
    (put([1], "claim", 0, "status"), "entry 1: status: must be a text"),
    (put(1, "claim", 0, "rule"), "entry 1: rule: must be a text"),
    (put("~=3", "claim", 0, "versions"), "entry 1: versions: must be a range"),
    (put("", "claim", 0, "note"), "entry 1: note: must be a text"),
    (put("", "claim", 0, "level"), "entry 1: level: must be a text"),
    (put("fine", "claim", 1, "means"), "entry 2: means: must be one of kept, partly"),
    (put("partly", "claim", 0, "means"), "entry 1: means: needs a note"),
    (put("4.2", "claim", 1, "section"), "entry 2: section: there is no such key"),
    (put(["a"], "claim", 0, "rules"), "entry 1: rules: there is no such key"),
    (put([], "claim", 3, "rules"), "entry 4: rules: must be a list"),
    (put("a", "claim", 3, "rules"), "entry 4: rules: must be a list"),
    (put(1, "claim", 3, "section"), "entry 4: section: must be a text"),
    (put("2026", "claim", 0, "date"), "entry 1: date: there is no such key"),
]


@pytest.mark.parametrize(("change", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_what_is_wrong_is_said_with_entry_and_key_and_schema_agrees(
    change: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    data = copy.deepcopy(GOOD)
    change(data)
    with pytest.raises(ClaimsError, match=r"^claims\.toml: ") as caught:
        read(data, "claims.toml")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not agree(data)


words = st.sampled_from(
    ["ok", "", " ", "MAY", "4.2.3", ">=3", ">=3,<4", "==3.*", "~=3", "3", "2026-01-31", "kept"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
places = st.sampled_from(
    [(key,) for key in GOOD]
    + [("statuses", "ok"), ("statuses", "doesn't", "means"), ("statuses", "doesn't", "at")]
    + [
        ("claim", number, key)
        for number, entry in enumerate(GOOD["claim"])
        for key in (*entry, "note", "section")
    ]
)


@given(places, values)
def test_schema_and_reader_agree_on_anything(place: tuple[str | int, ...], value: object) -> None:
    data = copy.deepcopy(GOOD)
    put(value, *place)(data)
    for entry in data["claim"] if isinstance(data["claim"], list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("status"), str | list):
            told = entry["status"] if isinstance(entry["status"], list) else [entry["status"]]
            # That a word is in the vocabulary is beyond a schema, as is that no two entries are the same.
            for word in told:
                if isinstance(word, str) and word.strip() and isinstance(data["statuses"], dict):
                    data["statuses"].setdefault(word, "kept")
    agree(data)


def test_schema_repeats_the_patterns_and_meanings() -> None:
    assert SCHEMA["$defs"]["versions"]["pattern"] == RANGE
    assert SCHEMA["$defs"]["date"]["pattern"] == DAY
    assert SCHEMA["$defs"]["meaning"]["enum"] == list(Meaning) == list(MEANINGS)
    Draft202012Validator.check_schema(SCHEMA)


def test_a_word_outside_the_vocabulary_is_refused() -> None:
    data = copy.deepcopy(GOOD)
    data["claim"][0]["status"] = "fine"
    with pytest.raises(ClaimsError, match=r"entry 1: status: 'fine' is not in \[statuses\]"):
        read(data, "claims.toml")


def test_a_note_that_takes_back_the_word_says_what_is_claimed() -> None:
    data = copy.deepcopy(GOOD)
    data["claim"][1] |= {"means": "partly"}
    assert agree(data)
    assert (read(GOOD, "x").claims[1].meaning, read(data, "x").claims[1].meaning) == (
        Meaning.KEPT,
        Meaning.PARTLY,
    )


def test_one_subject_twice_is_refused_unless_about_other_versions() -> None:
    data = copy.deepcopy(GOOD)
    data["claim"].append(dict(data["claim"][0]))
    with pytest.raises(ClaimsError, match="entries 1 and 5 are about the same rule"):
        read(data, "claims.toml")
    data["claim"][4]["versions"] = "<3.2"
    assert len(read(data, "claims.toml").claims) == 5


@pytest.mark.parametrize(
    ("words", "level", "found"),
    [
        (("ok",), "", Meaning.KEPT),
        (("doesn't",), "SHOULD", Meaning.NOT_KEPT),
        (("doesn't",), "MAY", Meaning.UNUSED),
        (("doesn't",), "MAY, MUST", Meaning.NOT_KEPT),
        (("ok", "doesn't"), "SHOULD, SHOULD", Meaning.PARTLY),
        (("ok", "doesn't"), "SHOULD, MAY", Meaning.KEPT),
        (("does", "doesn't"), "MAY, MAY", Meaning.USED),
        (("doesn't", "doesn't"), "SHOULD, SHOULD", Meaning.NOT_KEPT),
        (("planned", "doesn't"), "", Meaning.PARTLY),
        (("does",), "MAY, MAY", Meaning.USED),
        (("does",), "SHOULD NOT, SHOULD NOT", Meaning.NOT_KEPT),
    ],
)
def test_words_at_a_level_come_to_one_meaning(words: tuple[str, ...], level: str, found: Meaning) -> None:
    data = copy.deepcopy(GOOD)
    at = {"MAY": "used", "SHOULD NOT": "not-kept"}
    data["statuses"] |= {"does": {"means": "kept", "at": at}, "planned": "planned"}
    assert meaning(words, level, read(data, "claims.toml").statuses) is found


@pytest.mark.parametrize(
    ("versions", "version", "within"),
    [
        (">=3.10,<4", "3.10.8", True),
        (">=3.10,<4", "3.9", False),
        (">=3.10,<4", "3.11.0-rc.2+b7", True),
        (">=3.10,<4", "", False),
        (">=3.10,<4", "git-3.11", False),
        (">=3.10,<4", "9" * 5000, False),
        ("==3.*", "3.1", True),
    ],
)
def test_a_claim_is_about_the_versions_of_its_range(versions: str, version: str, within: bool) -> None:
    data = GOOD | {"claim": [{"rule": "x", "status": "ok", "versions": versions}]}
    (claim,) = read(data, "claims.toml").claims
    assert claim.concerns(version) is within


def test_without_a_range_a_claim_is_about_every_version() -> None:
    data = {key: value for key, value in GOOD.items() if key != "versions"}
    claim = read(data | {"claim": [{"rule": "x", "status": "ok"}]}, "claims.toml").claims[0]
    assert claim.concerns("")
    assert claim.concerns("3.10")


@pytest.mark.parametrize(
    ("octets", "sentence"),
    [(b"vendor = ", "not valid TOML"), (b"\xff", "not valid TOML"), (b"a=" + b"[" * 5000, "not valid TOML")],
)
def test_what_is_no_toml_is_said_in_one_sentence(tmp_path: Path, octets: bytes, sentence: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_bytes(octets)
    with pytest.raises(ClaimsError, match=sentence):
        load(path)
    with pytest.raises(ClaimsError, match="cannot be read"):
        load(tmp_path / "none.toml")


def test_the_vendors_page_is_there_row_by_row() -> None:
    told = load(RABBITMQ)
    counts = {subject: sum(each.subject is subject for each in told.claims) for subject in Subject}
    assert counts == {Subject.RULE: 115, Subject.PROSE: 45, Subject.METHOD: 51, Subject.CLASS: 6}
    assert len(told.claims) == 217
    assert told.date is None
    assert all(each.versions is None for each in told.claims)
    as_json = json.loads(json.dumps(tomllib.loads(RABBITMQ.read_text(encoding="utf-8"))))
    assert agree(as_json)


def test_every_row_about_a_rule_joins_one_and_no_rule_is_left_out() -> None:
    named = [each.name for each in load(RABBITMQ).claims if each.subject is Subject.RULE]
    of_the_xml = [rule.id for rule in catalogue().rules if rule.id.startswith("0-9-1/") and rule.place.path]
    assert set(named) <= {rule.id for rule in catalogue().rules}
    assert set(of_the_xml) >= set(named)
    assert len(set(named)) == 115


def test_every_row_about_the_prose_names_rules_that_are_there() -> None:
    rows = [each for each in load(RABBITMQ).claims if each.subject is Subject.PROSE]
    assert [each.name for each in rows if not each.rules] == []
    named = {rule for each in rows for rule in each.rules}
    assert named <= {rule.id for rule in catalogue().rules}
    # As many sentences as the row has levels, or several rules of one sentence; never fewer.
    assert [each.name for each in rows if len(each.rules) < len(each.level.split(","))] == [
        "1.4.1 naming",  # both sentences are one rule, as no run can tell
        "3.2.1 wait for reply",  # that who does not wait is borne is a rule for the other side
        "4.2.5.5 validate field names",  # to check and to refuse is one rule
        "4.3 multiple channels",  # that one channel is borne is a rule for the other side
    ]


@pytest.mark.parametrize(
    ("name", "claimed"),
    [
        ("4.3 channel fairness", Meaning.KEPT),  # "doesn't" beside SHOULD NOT
        ("3.1.1 content not modified", Meaning.PARTLY),  # "does" beside MUST NOT, and only with one header
        ("4.2.6 bad content 505", Meaning.PARTLY),
        ("0-9-1/exchange.declare.exchange.syntax", Meaning.NOT_KEPT),
        ("0-9-1/queue.declare.queue.syntax", Meaning.NOT_KEPT),
        ("0-9-1/channel.flow.throttling", Meaning.UNUSED),
        ("0-9-1/queue.declare.exclusive.exclusive", Meaning.KEPT),
        ("3.1.4 FIFO caveat", Meaning.USED),
    ],
)
def test_what_a_row_of_the_vendors_page_claims(name: str, claimed: Meaning) -> None:
    (row,) = [each for each in load(RABBITMQ).claims if each.name == name]
    assert row.meaning is claimed


def test_no_row_about_the_prose_rests_on_a_rule_for_the_other_side() -> None:
    joined = {each.name: each.rules for each in load(RABBITMQ).claims}
    others = {"0-9-1/prose/4.3.single-channel-borne", "0-9-1/prose/3.2.1.pipelined-requests-borne"}
    assert [name for name, rules in joined.items() if others & set(rules)] == []
    assert joined["2.3.5.2 body may be split"] == ("0-9-1/prose/4.2.3.own-frames-fit",)
    assert "0-9-1/queue.declare.default-binding" in joined["3.1.3.1 direct + default exchange"]


def test_claims_that_come_with_the_suite_are_read_by_name() -> None:
    assert load(Path("@rabbitmq")) == load(RABBITMQ)
    known = "@rabbitmq, @rabbitmq-extensions"
    with pytest.raises(
        ClaimsError, match=f"^nothing called @other comes with the suite; claims are {known}$"
    ):
        load(Path("@other"))


def test_every_rule_of_the_extensions_is_claimed_once_and_each_row_is_about_some() -> None:
    rules = catalogue().rules
    joined = [join(each, rules, {}) for each in load(Path("@rabbitmq-extensions")).claims]
    assert [each.why for each in joined if each.why] == []
    claimed = [rule.id for each in joined for rule in each.rules]
    assert sorted(claimed) == sorted(rule.id for rule in rules if rule.document == "rabbitmq")
