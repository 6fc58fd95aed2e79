"""Descriptions of processes: read strictly, placeholders filled, the bundled ones naming what is fetched."""

import os
import re
from pathlib import Path

import pytest
from lxml import etree

from harness.targets.description import descriptions, fill, parse
from harness.targets.target import TargetError
from harness.targets.tests.processes import text_of


def test_descriptions_come_with_the_suite() -> None:
    known = descriptions()
    assert list(known) == [
        "activemq",
        "artemis",
        "broker-j",
        "garagemq",
        "garagemq-0-9-1",
        "proton",
        "rabbitmq",
        "rabbitmq-tls",
    ]
    assert known["rabbitmq-tls"].facilities.items() <= known["rabbitmq"].facilities.items()
    assert "second-vhost" not in known["garagemq"].facilities
    assert known["garagemq-0-9-1"].facilities == known["garagemq"].facilities
    common = {"restart", "address", "idle-timeout", "keep-alive", "pause", "resume", "secure-port"}
    assert set(known["activemq"].facilities) == common | {"no-address"}
    refusing = {"restricted-user", "no-address", "removable-address", "remove-address", "powerless-user"}
    assert set(known["artemis"].facilities) == common | refusing | {"log"}
    served = {"restart", "address", "log", "keep-alive", "pause", "resume"}
    assert set(known["proton"].facilities) == served
    assert set(known["broker-j"].facilities) == {
        "restart",
        "priority-queue",
        "dead-letter-exchange",
        "log",
        "keep-alive",
        "pause",
        "resume",
        "second-vhost",
        "restricted-user",
        "memory-alarm",
        "lift-memory-alarm",
        "address",
        "no-address",
        "powerless-user",
        "idle-timeout",
    }
    assert set(known["rabbitmq"].facilities) == {
        "restart",
        "priority-queue",
        "dead-letter-exchange",
        "own-port",
        "secure-port",
        "log",
        "keep-alive",
        "pause",
        "resume",
        "second-vhost",
        "restricted-user",
        "memory-alarm",
        "lift-memory-alarm",
        "address",
        "no-address",
        "removable-address",
        "remove-address",
        "powerless-user",
        "idle-timeout",
        "policies",
        "late-policy",
        "no-late-policy",
    }


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('user = "ann"', "", "endpoint: user is missing"),
        ('user = "ann"', "user = 1", "endpoint: user has the wrong type"),
        ('user = "ann"', 'user = "ann"\ncolour = "red"', "endpoint: colour is not a key"),
        ('user = "ann"', 'user = "ann"\ntls = { colour = "x" }', "endpoint: tls: colour is not a key"),
        ("within = 20", 'within = 20\nbefore = ["x"]', "before must be a list of lists of strings"),
        ("within = 20", "within = 20\nbefore = [[]]", "before must be a list of lists of strings"),
        ("within = 20", 'within = 20\nfiles = { "/x" = "" }', "files: /x is not a name inside"),
        ("within = 20", 'within = 20\nfiles = { "a/../../x" = "" }', "files: a/../../x is not a name inside"),
        (
            "within = 20",
            'within = 20\ncalm = { "beat = 1" = "" }',
            "calm: 'beat = 1' does not stand",
        ),
        ("within = 20", "within = 0", "within must be more than 0"),
        ("within = 20", "within = true", "within has the wrong type"),
        ('requires = ["sh"]', "requires = [1]", "requires must be a list of strings"),
        ("within = 20", 'within = 20\nfetched = { name = "x" }', "fetched must hold name and by"),
        ("within = 20", 'within = 20\nfetched = { name = "x", by = "" }', "fetched must hold name and by"),
        ('ready = "amqp"', 'ready = "other"', "port other is used but not declared"),
        ('steps = [{ await = "amqp" }]', "steps = [{ jump = 1 }]", "has jump where one of run, await"),
        ('steps = [{ await = "amqp" }]', 'steps = [{ stop = "x" }]', "process x is used but not declared"),
        ('steps = [{ await = "amqp" }]', "steps = []", "steps are missing"),
        ('product = "stub"', "product", "stub.toml: "),
    ],
)
def test_a_wrong_description_gets_a_sentence(old: str, new: str, reason: str) -> None:
    text = text_of(["x"], facilities='[facilities.wait]\nsteps = [{ await = "amqp" }]')
    assert text.count(old) == 1
    parse(text, "stub.toml")
    with pytest.raises(TargetError, match=reason):
        parse(text.replace(old, new), "stub.toml")


def test_placeholders_are_filled_and_other_braces_left_alone() -> None:
    assert (
        fill("{a}-{port.x} {127,0,0,1} ${Version}", {"a": "1", "port.x": "2"}) == "1-2 {127,0,0,1} ${Version}"
    )
    with pytest.raises(TargetError, match=r"placeholder \{b\}"):
        fill("{b}", {"a": "1"})


@pytest.mark.parametrize("name", ["activemq", "artemis", "broker-j"])
def test_what_is_fetched_is_what_is_described(name: str) -> None:
    described = descriptions()[name].fetched
    project = Path(__file__).parents[3]
    pom = etree.parse(project / "ci" / "brokers" / f"{name}.pom.xml")
    assert described.name == f"{name}-{pom.findtext(f'.//{{*}}{name}.version')}"
    script, _, what = described.by.partition(" ")
    assert os.access(project / script, os.X_OK)
    assert what == name


def test_what_is_built_is_what_is_described() -> None:
    described = descriptions()["proton"].fetched
    script = Path(__file__).parents[3] / described.by
    assert os.access(script, os.X_OK)
    (version,) = re.findall(r"^version=(.+)$", script.read_text(), re.MULTILINE)
    assert described.name == f"proton-{version}"


def test_a_process_may_have_another_mechanism() -> None:
    text = text_of(["x"])
    assert parse(text, "stub.toml").mechanism == "PLAIN"
    other = text.replace('virtual_host = "/"', 'virtual_host = "/"\nmechanism = "ANONYMOUS"')
    assert parse(other, "stub.toml").mechanism == "ANONYMOUS"
    with pytest.raises(TargetError, match="mechanism: X is none of PLAIN"):
        parse(other.replace("ANONYMOUS", "X"), "stub.toml")
