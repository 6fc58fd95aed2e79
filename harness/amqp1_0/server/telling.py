"""Telling a client under test what to do by its shim, and judging what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from harness.amqp1_0.server.link import Link
from harness.amqp1_0.server.voice import Stage, Voiced
from harness.play.context import Context
from harness.play.expect import ControlFailed, Inapplicable
from harness.shims.contract import Kind, Refused, ShimLost
from harness.targets.client.tap import Tap
from harness.targets.client.target import ClientTarget, Place


class Served:
    """A server of ours at a `place`, to which clients connect; `heard` are their connections so far."""

    def __init__(self, place: Place, tap: Tap, stage: Stage, voiced: Voiced) -> None:
        self.place = place
        self.heard: list[Link] = []
        self.stage, self.voiced = stage, voiced
        self._tap = tap
        voiced.looks = place[0] != "memory"

    def hear(self, listen: Callable[[Any], Link]) -> None:
        """Listen to what has connected meanwhile."""
        while self._tap.accepted:
            self.heard.append(listen(self._tap.accepted.popleft()))


class Telling:
    """A client under test as its shim is told what to do; its connections so far, and our servers."""

    def __init__(self, target: ClientTarget, context: Context, protocol: str) -> None:
        self.context = context
        self._target, self._protocol = target, protocol
        self._links: list[Link] = []
        self._servers: list[Served] = []
        self._serving = ExitStack()

    def _do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Have the client do something. Raises Refused, ShimLost, or Inapplicable."""
        try:
            return self._target.shim.do(command, **arguments)
        except Refused as failure:
            if failure.kind is Kind.UNSUPPORTED:
                raise Inapplicable(f"the library has no way to do it: {failure.text}") from None
            raise

    def told(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Have the client do something that must work. Raises ControlFailed, or Inapplicable."""
        try:
            return self._do(command, **arguments)
        except Refused as failure:
            raise ControlFailed(command, failure.told) from failure
        except ShimLost as failure:
            raise ControlFailed(command, str(failure)) from failure

    def attempted(self, command: str, into: dict[str, Any] | None = None, **arguments: Any) -> Refused | None:
        """Have the client do something that may fail, and say why it did; what is told goes `into`.

        Raises Unmet where the client falls over or hangs.
        """
        try:
            told = self._do(command, **arguments)
        except Refused as failure:
            return failure
        except ShimLost as failure:
            self._hear_all()
            if not self._links:
                raise ControlFailed(command, str(failure)) from failure
            # With which status it was ended is a matter of moments.
            self.judge("the client lives on", str(failure).partition(" (status")[0], False)
            raise
        if into is not None:
            into.update(told)
        return None

    def judge(self, expected: str, otherwise: str, holds: bool, reading: str = "") -> None:
        """Judge a fact: `expected` if it `holds`, else `otherwise`; legal all the same under a `reading`."""
        self._links[-1].judged(expected, otherwise, holds, reading)

    @contextmanager
    def works(self, expected: str) -> Iterator[None]:
        """Judge that what is done inside works: a control that fails there decides. Raises Unmet."""
        otherwise = ""
        try:
            yield
        except ControlFailed as failure:
            otherwise = str(failure)
        self.judge(expected, otherwise, not otherwise)

    def fails(self, act: Callable[[], object]) -> bool:
        """Have something done that may not work, and say whether it did not."""
        try:
            act()
        except ControlFailed:
            return True
        return False

    def note(self, text: str) -> None:
        """Keep a fact worth reporting."""
        self.context.note(text, self._links[-1].name, self._links[-1].now())

    def name(self, kind: str) -> str:
        """Make a name that nobody else uses; what has it is gone with our server."""
        return f"{self.context.prefix}-{kind}-{next(self.context.numbers)}"

    def _listen(self, heard: Any) -> Link:
        name = f"{self.context.label}.{len(self._links) + 1}"
        self._links.append(Link(heard, self.context, name, self._protocol))
        return self._links[-1]

    def _hear_all(self) -> None:
        for served in self._servers:
            served.hear(self._listen)
