"""ci/targets/schema.json and our own parser agree on what describes a target."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
import tomlkit
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from harness.dialect import documents
from harness.targets import description
from harness.targets.client import described as client_description
from harness.targets.description import bundled, form
from harness.targets.docker import description as container_description
from harness.targets.strict_toml import read
from harness.targets.target import TargetError

Content = dict[str, Any]
SCHEMA = json.loads((files("ci") / "targets" / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
PARSERS: dict[str, Callable[[str, str], object]] = {
    "process": description.parse,
    "container": container_description.parse,
    "client": client_description.parse,
}
ENDPOINT = {"port": "amqp", "user": "guest", "password": "guest", "virtual_host": "/"}
TOP = {
    "product": "Mine",
    "about": "my broker",
    "protocols": ["0-9-1"],
    "documents": ["rabbitmq"],
    "endpoint": ENDPOINT,
}
PROCESS: Content = TOP | {
    "process": {
        "package": "mine",
        "requires": ["mine"],
        "fetched": {"name": "mine-1", "by": "fetch"},
        "version": ["mine", "--version"],
        "ports": ["amqp"],
        "within": 20,
        "patience": 0.5,
        "workers": 2,
        "apart": ["class:queue"],
        "links": [{"at": "home", "to": ["/usr/lib/mine/*"]}],
        "files": {"mine.conf": "port = {port.amqp}"},
        "before": [["mkdir", "data"]],
        "environment": {"HOME": "{directory}"},
        "run": [{"name": "broker", "command": ["mine"], "ready": "amqp", "says": "ready"}],
    },
    "facilities": {
        "restart": {"steps": [{"stop": "broker"}, {"start": "broker"}, {"await": "amqp"}]},
        "pause": {"steps": [{"pause": "broker"}]},
        "resume": {"steps": [{"resume": "broker"}]},
        "second-vhost": {
            "arguments": {"name": "{unique}"},
            "steps": [{"run": ["mine", "add", "{name}"]}],
            "returns": {"virtual_host": "{name}"},
        },
    },
}
CONTAINER: Content = TOP | {
    "container": {
        "images": ["mine:*"],
        "image": "mine:1",
        "ports": {"amqp": 5672},
        "within": 60,
        "patience": 10,
        "workers": 1,
        "apart": ["0-9-1/basic.01", "0-9-1/grammar/unknown-*"],
        "environment": {"A": "b"},
        "command": ["mine", "--foreground"],
        "files": {"/etc/mine.conf": "port = {port.amqp}"},
        "version": ["mine", "--version"],
    },
    "facilities": {"restart": {"steps": [{"engine": "restart"}, {"await": "amqp"}, {"run": ["true"]}]}},
}
CLIENT: Content = {
    "product": "Mine",
    "about": "my library",
    "protocols": ["0-9-1"],
    "client": {
        "command": ["mine"],
        "requires": ["mine"],
        "modules": ["mine"],
        "within": 5,
        "workers": 2,
        "apart": ["1-0/2.5.1*"],
    },
}
WHOLE = {"process": PROCESS, "container": CONTAINER, "client": CLIENT}


def parsed(content: Content) -> str:
    """Say what our parser has against a description; empty if nothing."""
    text = tomlkit.dumps(content)
    try:
        PARSERS[form(read(text, "mine.toml"))](text, "mine.toml")
    except TargetError as failure:
        return str(failure)
    return ""


def validated(content: Content) -> list[str]:
    """List what the schema has against it."""
    return [error.message for error in VALIDATOR.iter_errors(content)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(bundled()))
def test_what_comes_with_the_suite_is_valid(name: str) -> None:
    assert validated(tomllib.loads(bundled()[name])) == []


@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_a_description_with_every_key_is_valid_for_both(kind: str) -> None:
    assert (parsed(WHOLE[kind]), validated(WHOLE[kind])) == ("", [])


def tables(content: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """List where a description has tables whose keys are ours."""
    free = {"files", "environment", "arguments", "returns", "ports"}
    found: list[tuple[str | int, ...]] = []
    if isinstance(content, dict):
        if not path or (path[-1] not in free and path[-1] != "facilities"):
            found.append(path)
        for key, value in content.items():
            found += tables(value, (*path, key))
    elif isinstance(content, list):
        for place, value in enumerate(content):
            found += tables(value, (*path, place))
    return found


def at(content: Content, path: tuple[str | int, ...]) -> Any:
    place: Any = content
    for step in path:
        place = place[step]
    return place


EVERYWHERE = [(kind, path) for kind, content in WHOLE.items() for path in tables(content)]


@pytest.mark.parametrize(("kind", "path"), EVERYWHERE, ids=str)
def test_a_key_that_is_not_known_is_found_by_both(kind: str, path: tuple[str | int, ...]) -> None:
    content = copy.deepcopy(WHOLE[kind])
    at(content, path)["reqiures"] = "x"
    assert parsed(content)
    assert validated(content)


NEEDED = [(kind, path, key) for kind, path in EVERYWHERE for key in at(WHOLE[kind], path)]


@pytest.mark.parametrize(("kind", "path", "key"), NEEDED, ids=str)
def test_both_agree_on_what_may_be_missing(kind: str, path: tuple[str | int, ...], key: str) -> None:
    content = copy.deepcopy(WHOLE[kind])
    del at(content, path)[key]
    assert bool(parsed(content)) == bool(validated(content)), (parsed(content), validated(content))


@pytest.mark.parametrize(("kind", "path", "key"), NEEDED, ids=str)
def test_both_find_a_value_of_another_type(kind: str, path: tuple[str | int, ...], key: str) -> None:
    content = copy.deepcopy(WHOLE[kind])
    at(content, path)[key] = True
    assert parsed(content)
    assert validated(content)


@pytest.mark.parametrize(
    ("kind", "path", "key", "value"),
    [
        ("process", ("process",), "within", 0),
        ("process", ("process",), "patience", 86401),
        ("process", ("process",), "workers", -1),
        ("process", ("process",), "run", []),
        ("process", ("facilities", "restart"), "steps", []),
        ("process", ("facilities", "restart", "steps", 0), "await", "amqp"),
        ("process", ("facilities",), "restart", {"steps": [{"engine": "restart"}]}),
        ("container", ("container",), "ports", {"amqp": 65536}),
        ("container", ("container",), "ports", {}),
        ("container", ("container",), "files", {"mine.conf": ""}),
        ("container", ("facilities", "restart"), "steps", [{"engine": "explode"}]),
        ("container", ("facilities", "restart"), "steps", [{"stop": "broker"}]),
        ("container", ("endpoint",), "tls", {"ca": "/ca.pem"}),
        ("container", (), "process", PROCESS["process"]),
    ],
)
def test_both_refuse(kind: str, path: tuple[str | int, ...], key: str, value: object) -> None:
    content = copy.deepcopy(WHOLE[kind])
    at(content, path)[key] = value
    assert parsed(content)
    assert validated(content)


def test_every_key_is_explained() -> None:
    def unexplained(schema: Content, path: str = "") -> list[str]:
        found = []
        for key, inner in schema.get("properties", {}).items():
            if not isinstance(inner, dict):
                continue
            where = f"{path}/{key}"
            found += [] if "description" in inner or key == "process_facilities" else [where]
            found += unexplained(inner, where) + unexplained(inner.get("items", {}), where)
        return found

    assert unexplained(SCHEMA) == []


def test_it_may_speak_what_is_spoken_here() -> None:
    assert SCHEMA["properties"]["protocols"]["items"]["enum"] == list(documents())
