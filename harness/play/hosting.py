"""How a protocol is spoken with a target that connects: our server is the one it connects to."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Generic

from harness.play.context import Context
from harness.play.expect import Barrier, Inapplicable, Stop
from harness.play.fixture import AnyVisitor, played, visiting
from harness.play.promises import Promise
from harness.play.speaker import Banner
from harness.shims.contract import Kind, Refused, ShimLost
from harness.targets.client.target import ClientTarget
from harness.targets.target import Target, TargetError
from harness.wire.transport import Unreachable

NONSENSE = "frobnicate"
"""A command that no shim has."""
A_LITTLE = 1.0
"""Seconds that an end may take beyond the time-out that a library is told."""


@dataclass(frozen=True, slots=True)
class Host(Generic[AnyVisitor]):
    """How scenarios of a `document` speak with a client, in a protocol that people call by its `name`.

    `fixture` makes what a scenario is handed; `commands` have a client do what its shim must be able to, and
    say what was seen: the first is the least that makes it worth judging.
    """

    document: str
    name: str
    fixture: Callable[[ClientTarget, Context], AnyVisitor]
    commands: Mapping[str, Callable[[AnyVisitor], str]]

    def session(self, target: Target, context: Context) -> AbstractContextManager[AnyVisitor]:
        """Hand out the fixture of one scenario; on exit nothing of it is left."""
        return played(self._fixture(target, context))

    def probe(self, target: Target, within: float = 30.0) -> Banner:
        """Ask the shim who it is, and have its client look, in `within` seconds.

        Raises Unreachable with one sentence where it cannot be judged.
        """
        told = self._hello(target)
        try:
            self._client(target).shim.do(NONSENSE)
            raise Unreachable(f"{target.name} took a command that nobody knows")
        except Refused as refusal:
            if refusal.kind is not Kind.UNKNOWN:
                raise Unreachable(f"{target.name} calls a command that nobody knows {refusal.kind}") from None
        prefix = f"probe-{token_hex(4)}"
        try:
            with visiting(lambda context: self._fixture(target, context), target, within, prefix) as client:
                next(iter(self.commands.values()))(client)
        except Stop as failure:
            raise Unreachable(f"{target.name} opens no {self.name} connection to us: {failure}") from None
        return Banner(str(told.get("library", "")), str(told.get("version", "")), told, 0.0)

    def serves(self, target: Target, within: float = 60.0, barrier: Barrier | None = None) -> None:
        """Make sure that the shim still answers. Raises Unreachable with one sentence if it does not."""
        del within, barrier  # a shim is given the time that its description says
        self._hello(target)

    def promises(self) -> Mapping[str, Promise]:
        """Give what facilities promise: a client has none beside being started again."""
        return {}

    def tries(self, target: Target, within: float = 30.0) -> Iterator[tuple[str, str, bool | None]]:
        """Try each command; yield it, what was seen, whether the contract is kept, None where it cannot."""
        for what, command in self.commands.items():
            prefix = f"tries-{token_hex(4)}"
            try:
                with visiting(lambda context: self._fixture(target, context), target, within, prefix) as it:
                    yield what, command(it), True
            except Inapplicable as failure:
                yield what, str(failure), None
            except (Stop, ShimLost) as failure:
                why = failure.__cause__
                yield what, f"{failure}{f' ({why.text})' if isinstance(why, Refused) else ''}", False

    def _hello(self, target: Target) -> dict[str, object]:
        try:
            return dict(self._client(target).shim.do("hello"))
        except (Refused, ShimLost, TargetError) as failure:
            raise Unreachable(f"{target.name} does not say who it is: {failure}") from None

    def _fixture(self, target: Target, context: Context) -> AnyVisitor:
        # Clients delay no end on purpose, as servers do after a failed log-in; some end by their time-out.
        ends = max(context.patience.answer, self._client(target).within + A_LITTLE)
        context.patience = replace(context.patience, close=ends)
        return self.fixture(self._client(target), context)

    @staticmethod
    def _client(target: Target) -> ClientTarget:
        assert isinstance(target, ClientTarget), "what has the role of a client is one"
        return target
