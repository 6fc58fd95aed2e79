"""What targets made from a description have in common, whichever form they run in."""

import json
import secrets
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from threading import Lock

from harness.targets.description import SEEN, Described, Facility, fill
from harness.targets.sockets import as_text, served
from harness.targets.target import Target, TargetError

_STOCK: dict[tuple[str, str], deque[Mapping[str, str]]] = {}
_MAKING = Lock()


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
        self._files, self._calm = described.files, described.calm

    def calm(self) -> None:
        for old, new in self._calm.items():
            self._files = {name: text.replace(old, new) for name, text in self._files.items()}

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
        if described.makes > 1 and not arguments:
            return self._from_stock(facility, described)
        return next(iter(self._made(facility, described, arguments)))

    def _from_stock(self, facility: str, described: Facility) -> Mapping[str, str]:
        """Hand out one of many that were made at once, for all attachments of this process to the target."""
        this_one = json.dumps(self.attachment(), sort_keys=True)  # another of its name has made other things
        with _MAKING:
            stock = _STOCK.setdefault((this_one, facility), deque())
            if not stock:
                stock.extend(self._made(facility, described))
            return stock.popleft()

    def _made(
        self, facility: str, described: Facility, arguments: tuple[str, ...] = ()
    ) -> Iterator[Mapping[str, str]]:
        """Do the steps once; yield what they made, one or many. Raises TargetError."""
        values = self._values() | self._arguments(facility, described, arguments)
        values |= {"makes": str(described.makes)}
        for action, operands in described.steps:
            try:
                self._step(action, tuple(fill(operand, values) for operand in operands))
            except TargetError as error:
                raise TargetError(f"{self.name}: the facility {facility!r} failed: {error}") from None
        values |= self._seen(described.returns)
        for number in range(described.makes):
            each = values | {"number": str(number)}
            yield {key: fill(text, each) for key, text in described.returns.items()}

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
