"""Why our own client did not do what it was told, or what the server has ended."""

from dataclasses import dataclass

from harness.amqp1_0.wire.performatives import Close, Detach, End, Error
from harness.shims.contract import Kind, Refused


class Ended(Refused):
    """The server ended what a command was about: at which `level`, with which condition as its `code`."""

    def __init__(self, kind: Kind, text: str, level: str = "", code: str = "") -> None:
        super().__init__(kind, text, code)
        self.level = level
        self.code = code


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with what came: the condition that the standard has for it, and why in words."""

    condition: str
    why: str

    @property
    def error(self) -> Error:
        return Error(self.condition, self.why)


def error_of(said: Close | End | Detach) -> Error | None:
    """Give the error that something ends with, if it can be read."""
    found = said.carried("error")
    return found if isinstance(found, Error) else None


def ended_by(level: str, said: Close | End | Detach) -> Ended:
    """Give what a command comes to whose connection, session or link the server has ended."""
    error = error_of(said)
    if error is None:
        return Ended(Kind.CLOSED, f"the server ended the {level}", level)
    return Ended(Kind.CLOSED, error.description or "", level, str(error.condition))
