"""What is said between the suite and a shim is as `ci/clients/schema.json` has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from harness.dialect import dialect
from harness.play.hosting import Host
from harness.shims.contract import Refused, Shim
from harness.targets.client.described import MemoryClient
from spec.rules import Role

SCHEMA = json.loads((files("ci") / "clients" / "schema.json").read_text(encoding="utf-8"))
LINE = Draft202012Validator(SCHEMA)


class Checked:
    """A shim of which every line is held against the schema."""

    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self.lines = 0

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Carry out a command. Raises Refused."""
        self._check({"id": 1, "do": command, "within": 5.0, **arguments})
        try:
            told = self._shim.do(command, **arguments)
        except Refused as failure:
            self._check({"id": 1, "error": {"kind": failure.kind, "text": failure.text}})
            raise
        self._check({"id": 1, "ok": told})
        return told

    def _check(self, line: object) -> None:
        self.lines += 1
        LINE.validate(json.loads(json.dumps(line)))


class CheckedClient(MemoryClient):
    """Our own client, of which every line is checked."""

    @property
    def shim(self) -> Shim:
        return self.checked

    def __init__(self, document: str) -> None:
        super().__init__(document)
        self.checked = Checked(super().shim)


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("document", ["0-9-1", "1-0"])
def test_our_own_shims_keep_to_it_command_by_command(document: str) -> None:
    client = CheckedClient(document)
    host = dialect(document).towards(Role.CLIENT)
    assert isinstance(host, Host)
    seen = list(host.tries(client))
    assert [what for what, _, kept in seen if not kept] == []
    assert client.checked.lines > 40


@pytest.mark.parametrize(
    "line",
    [
        {"id": 1},
        {"id": 1, "ok": {}, "error": {"kind": "lost", "text": ""}},
        {"id": 1, "error": {"kind": "sad", "text": ""}},
        {"id": 1, "ok": {"message": {"size": 3}}},
        {"id": 1, "ok": {"events": [{"event": "party"}]}},
        {"id": 1, "ok": {"reply": {"queue": {"i32": 7}}}},
    ],
)
def test_other_lines_are_refused(line: Mapping[str, Any]) -> None:
    assert not LINE.is_valid(line)
