"""Telling a client under test what to do by its shim, and judging what becomes of it; of no protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Generic, TypeVar

from harness.play.context import Context
from harness.play.expect import ControlFailed, Inapplicable
from harness.play.link import Link
from harness.shims.contract import Kind, Refused, ShimLost
from harness.targets.client.tap import Heard
from harness.targets.client.target import ClientTarget
from harness.wire.journal import Grade

AnyLink = TypeVar("AnyLink", bound=Link[Any, Any])
Listening = Callable[[Heard, Context, str, str], AnyLink]
"""Makes a connection of the client heard, for a scenario, under a name, of a protocol."""


class Telling(Generic[AnyLink]):
    """A client under test, for one scenario; of its connections nothing is left behind."""

    def __init__(
        self, target: ClientTarget, context: Context, protocol: str, listening: Listening[AnyLink]
    ) -> None:
        self.context = context
        self._target, self._protocol, self._listening = target, protocol, listening
        self._links: list[AnyLink] = []
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
            self._is_lost(failure)
            raise
        if into is not None:
            into.update(told)
        return None

    def judge(
        self,
        expected: str,
        otherwise: str,
        holds: bool,
        reading: str = "",
        allowed: Grade = Grade.TOLERATED,
    ) -> None:
        """Judge a fact: `expected` if it `holds`, else `otherwise`; `allowed` all the same by a `reading`."""
        self._links[-1].judged(expected, otherwise, holds, reading, allowed)

    def _is_lost(self, failure: ShimLost) -> None:
        """Judge that it should have lived on; amid which command it did not may be up to its threads."""
        self.note(str(failure))
        self.judge("the client lives on", "it hangs" if failure.hangs else "it fell over", False)

    def note(self, text: str) -> None:
        """Keep a fact worth reporting."""
        self.context.note(text, self._links[-1].name, self._links[-1].now())

    def logged(self) -> str:
        """Give what its library has logged up to now; empty where it logs nothing."""
        return "\n".join(each.decode(errors="replace") for each in self._target.logs().values())

    def name(self, kind: str) -> str:
        """Make a name that nobody else uses; what has it is gone with our server."""
        return f"{self.context.prefix}-{kind}-{next(self.context.numbers)}"

    # -- what connects, and leaving --------------------------------------------------------------------

    def _listen(self, heard: Heard) -> AnyLink:
        name = f"{self.context.label}.{len(self._links) + 1}"
        self._links.append(self._listening(heard, self.context, name, self._protocol))
        return self._links[-1]

    def _hear_all(self) -> None:
        """Listen to whatever has connected meanwhile."""

    def hang_up(self) -> None:
        """Drop the client's connections, and show what went over them to the passive rules."""
        with ExitStack() as every:
            every.callback(self._links.clear)
            every.callback(self._finish)
            every.push(self._serving.pop_all())
            with suppress(Refused, ShimLost):
                self._target.shim.do("reset")

    def _finish(self) -> None:
        self._hear_all()
        for link in self._links:
            link.finish()

    drop = leave = hang_up
