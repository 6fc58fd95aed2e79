"""A second server of AMQP/Fast, written from the document alone, is judged: what differs is a reading.

Its authors had read neither the suite's peer nor its checks. Where it fails a check, the check, the server or
a reading is wrong.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import judge_rule
from harness.amqp_fast.tests.second.server import Connection, Server
from harness.peers.peer import PeerServer
from harness.targets.embedded import EmbeddedTarget
from scenarios.registry import checks
from spec.catalogue import catalogue
from spec.rules import Role, Rule

DIFFERS: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "disagreements.toml").read_text())
RULES = [rule for rule in catalogue().rules if rule.document == "fast" and checks().of(rule.id, Role.SERVER)]
GOOD = (Verdict.PASS, Verdict.INFO, Verdict.INAPPLICABLE)
QUEUES = 50
"""Configured queues of the server, each of which a check may ask for."""


class Line:
    """A connection of the second server, as a transport in memory sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said = b""

    @property
    def closed(self) -> str | None:
        return "fin" if self._connection.closed else None

    def receive(self, octets: bytes) -> None:
        if not self._connection.closed:
            self._said += self._connection.receive(octets)

    def hang_up(self) -> None:
        self._connection.lost()

    def take(self) -> bytes:
        said, self._said = self._said + self._connection.take(), b""
        return said

    def next_timer(self) -> float | None:
        return None

    def tick(self, now: float) -> None: ...


class Second:
    """The second server, and what of the facilities it has."""

    def __init__(self) -> None:
        self._queues = iter(f"queue-{number}" for number in range(QUEUES))
        self._server = Server(queues=[f"queue-{number}" for number in range(QUEUES)], paths=["/", "/second"])

    def connect(self, now: float) -> Line:
        del now
        return Line(self._server.connect())

    def use(self, facility: str) -> dict[str, str]:
        made: dict[str, dict[str, str]] = {
            "second-vhost": {"virtual_host": "/second"},
            "unlimited-user": {"user": "guest", "password": "guest"},
        }
        return {"address": next(self._queues)} if facility == "address" else made[facility]

    def restart(self) -> None: ...


class SecondTarget(EmbeddedTarget):
    """It in place of the reference peer; nobody's access is restricted, and it has no clock."""

    facilities = EmbeddedTarget.facilities - {"restricted-user", "idle-timeout", "restart"}

    def make(self, document: str) -> PeerServer:
        """Make a fresh one, of this protocol alone."""
        return Second() if document == "fast" else super().make(document)


def differs(rule: str) -> bool:
    return any(rule in each["rules"] for each in DIFFERS["differs"])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_second_implementation_does_as_the_suite_expects(rule: Rule) -> None:
    judged = judge_rule(rule, SecondTarget())
    if judged.verdict is Verdict.NOT_RUN:
        assert "has no facility" in judged.detail
    elif differs(rule.id):
        assert judged.verdict is Verdict.WARN, "it no longer differs"
    else:
        assert judged.verdict in GOOD, f"{judged.signature}; {judged.detail}"


def test_what_is_listed_is_argued() -> None:
    assert all(each["because"].strip() for each in DIFFERS["differs"])
    assert {rule for each in DIFFERS["differs"] for rule in each["rules"]} <= {rule.id for rule in RULES}
