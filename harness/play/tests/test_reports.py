"""What a client reports: what it tells, or its library logs, that it does not of every end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.amqp0_9_1.broken.provocations import hangs_up
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.vocabulary import Channel
from harness.play.context import Context
from harness.play.expect import ControlFailed, Unmet
from harness.play.reports import Reports
from harness.shims.contract import Kind, Refused
from harness.targets.client.described import ClientDescription, MemoryClient, ProgramClient
from harness.wire.journal import Event

LOST = Refused(Kind.LOST, "the socket of port 43210 is gone")


class Nowhere:
    """A journal that keeps nothing."""

    def write(self, event: Event) -> None:
        """Forget it."""


class Logging(MemoryClient):
    """Our own client, with a log that a test writes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = ["started"]

    def logs(self) -> dict[str, bytes]:
        return {"client.log": "\n".join(self.lines).encode()}


@pytest.fixture
def target() -> Logging:
    return Logging()


@pytest.fixture
def client(target: Logging) -> Client:
    return Client(target, Context(Nowhere(), "test"), "0-9-1")


@pytest.fixture
def reports(client: Client) -> Reports:
    found = Reports(client, client.connection())
    found.usual(client.connection(), None)
    return found


def test_what_is_told_of_an_end_is_a_report(client: Client, reports: Reports) -> None:
    reports.gains("the end", client.connection(), LOST)


def test_an_event_is_a_report(client: Client, reports: Reports) -> None:
    lost = client.connection(hangs_up(Channel.OpenOk))
    assert lost.tries_channel()
    reports.gains("the end", lost, None)


def test_a_line_of_another_kind_is_a_report(client: Client, reports: Reports, target: Logging) -> None:
    target.lines.append("1: lost")
    reports.gains("the end", client.connection(), None)


@pytest.mark.parametrize("told", [None, Refused(Kind.TIMEOUT, "no answer within 5 s")])
def test_who_only_gives_up_reports_nothing(client: Client, reports: Reports, told: Refused | None) -> None:
    with pytest.raises(Unmet, match="only what is always told and logged"):
        reports.gains("the end", client.connection(), told)


def test_what_is_told_and_logged_of_every_end_is_no_report(client: Client, target: Logging) -> None:
    reports = Reports(client, client.connection())
    target.lines.append("1: gone")
    reports.usual(client.connection(), LOST)
    target.lines.append("2: gone")
    with pytest.raises(Unmet):
        reports.gains("the end", client.connection(), Refused(Kind.LOST, "the socket of port 1 is gone"))


def test_without_a_connection_beside_nothing_can_be_waited_for(client: Client) -> None:
    gone = client.connection()
    gone.close()
    with pytest.raises(ControlFailed):
        Reports(client, gone).usual(client.connection(), None)


WRITES = """
import os
from harness.amqp0_9_1.shims.own import Own
from harness.shims.serving import serve

class Writing(Own):
    def open(self, on):
        os.write(2, b"opened\\n")
        return super().open(on)

serve(Writing())
"""


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[ProgramClient]:
    (tmp_path / "writing.py").write_text(WRITES)
    command = (sys.executable, str(tmp_path / "writing.py"))
    described = ClientDescription("writing", "writes", frozenset({"0-9-1"}), command, (), (), 5.0)
    with ProgramClient("writing", described) as target:
        yield target


def test_what_a_shim_writes_is_its_log_and_looking_at_it_changes_nothing(writing: ProgramClient) -> None:
    client = Client(writing, Context(Nowhere(), "test"), "0-9-1")
    connection = client.connection()
    for count in (1, 2, 3):
        connection.channel()
        assert client.logged() == count * "opened\n"
    client.hang_up()
