"""What targets made from a description have in common, whichever form they run in."""

import secrets
from abc import abstractmethod
from collections.abc import Callable, Mapping

from harness.targets.description import SEEN, Described, Facility, fill
from harness.targets.sockets import as_text, served
from harness.targets.target import Target, TargetError


class DescribedTarget(Target):
    """A broker that is started from its description and gone when it stops; `product` is its name."""

    ephemeral = True

    def __init__(self, name: str, described: Described) -> None:
        super().__init__()
        self.name = name
        self.product = described.product
        self.protocols = described.protocols
        self.documents = described.documents
        self.facilities = frozenset(described.facilities)
        self.workers = described.workers
        self.single = described.single
        self.apart = described.apart
        self._facilities = described.facilities

    @abstractmethod
    def _values(self) -> dict[str, str]:
        """Give the value of each placeholder. Raises TargetError where it is not running."""

    @abstractmethod
    def _step(self, action: str, operands: tuple[str, ...]) -> None:
        """Do one step of a facility. Raises TargetError."""

    @abstractmethod
    def _sockets(self) -> tuple[int, str]:
        """Give its port, and the kernel's tables of the TCP sockets there. Raises TargetError."""

    def _seen(self, returns: Mapping[str, str]) -> dict[str, str]:
        """Give the values of those placeholders in `returns` that tell of the running target."""
        asked = {name for name in SEEN if any(f"{{{name}}}" in text for text in returns.values())}
        looks: dict[str, Callable[[], dict[str, str]]] = {
            "log": lambda: {"log": _joined(self.logs())},
            "clients": lambda: as_text(served(*self._sockets())),
            "kept-alive": lambda: as_text(served(*self._sockets())),
        }
        return {name: looks[name]()[name] for name in asked}

    def use(self, facility: str, *arguments: str) -> Mapping[str, str]:
        """Run the steps of a facility; `arguments` replace its defaults in order. Raises TargetError."""
        described = self._facilities.get(facility)
        if described is None:
            return super().use(facility)
        values = self._values() | self._arguments(facility, described, arguments)
        for action, operands in described.steps:
            try:
                self._step(action, tuple(fill(operand, values) for operand in operands))
            except TargetError as error:
                raise TargetError(f"{self.name}: the facility {facility!r} failed: {error}") from None
        values |= self._seen(described.returns)
        return {key: fill(text, values) for key, text in described.returns.items()}

    def _arguments(self, facility: str, described: Facility, given: tuple[str, ...]) -> dict[str, str]:
        if len(given) > len(described.arguments):
            names = ", ".join(described.arguments) or "none"
            raise TargetError(f"{self.name}: the facility {facility!r} takes fewer arguments: {names}.")
        values = {
            name: fill(default, {"unique": secrets.token_hex(6)})
            for name, default in described.arguments.items()
        }
        return values | dict(zip(described.arguments, given, strict=False))


def _joined(logs: Mapping[str, bytes]) -> str:
    return "".join(each.decode(errors="replace") for each in logs.values())


def said(output: str, lines: int = 1) -> str:
    """Shorten a program's output to its last `lines` that hold a letter or digit."""
    saying = [line.strip() for line in output.splitlines() if any(map(str.isalnum, line))]
    return " / ".join(line[:300] for line in saying[-lines:]) or "it printed nothing"
