"""What a client under test reports of an end: what it tells its application, or logs, that is not usual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.play.expect import ControlFailed
from harness.play.link import EVERYWHERE, Closed
from harness.play.log import LOOK, kind
from harness.play.opened import Opened
from harness.play.telling import Telling
from harness.shims.contract import Kind, Refused


class Reports:
    """What a client tells and logs from now on, in kinds of words: no numbers, no ports.

    A library has the log of its application, or none: what it tells that can be logged by it, and counts as
    well. That it gave up waiting tells of nothing that happened. `beside` is a connection of the client's
    that stays open, and lets it live.
    """

    def __init__(self, client: Telling[Any], beside: Opened[Any]) -> None:
        self._client, self._beside = client, beside
        self._before = client.logged()
        self._usual: set[str] = set()

    def usual(self, connection: Opened[Any], refused: Refused | None) -> None:
        """Learn what is told and logged of a connection that ends as it may; `refused` is what was told."""
        until = self._now() + self._client.context.patience.quiet
        while self._now() < until:
            self._live()
        self._usual |= self._reported(connection, refused)
        self._before = self._client.logged()

    def gains(self, what: str, connection: Opened[Any], refused: Refused | None) -> None:
        """Judge that something else than usual is told or logged. Raises Unmet."""
        until = self._now() + self._client.context.patience.answer
        while not (new := self._reported(connection, refused) - self._usual) and self._now() < until:
            self._live()
        self._client.judge(f"{what} is told or logged", "only what is always told and logged", bool(new))
        self._before = self._client.logged()

    def _now(self) -> float:
        return float(self._beside.link.now())

    def _live(self) -> None:
        if isinstance(self._beside.link.next(EVERYWHERE, LOOK), Closed):
            raise ControlFailed("a connection beside", "its end")

    def _reported(self, connection: Opened[Any], refused: Refused | None) -> set[str]:
        connection.lives(0.0)
        lines = self._client.logged().removeprefix(self._before).splitlines()
        return {kind(each) for each in (*lines, *_told(connection, refused))} - {""}


def _told(connection: Opened[Any], refused: Refused | None) -> Iterator[str]:
    if refused is not None and refused.kind is not Kind.TIMEOUT:
        yield f"{refused.kind} {refused.native} {refused.text}"
    for each in connection.events:
        yield f"{each.event} {each.told.get('text', '')}"
