"""Why our own client did not do what it was told, or what the server has ended."""

from dataclasses import dataclass

from harness.amqp1_0.wire.performatives import Close, Detach, End, Error
from harness.shims.contract import Kind, Refused


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with what came: the condition that the standard has for it, and why in words."""

    condition: str
    why: str

    @property
    def error(self) -> Error:
        return Error(self.condition, self.why)

    def ends(self, level: str) -> Refused:
        """Say that the client has ended something because of it."""
        return Refused(Kind.LOCAL, self.why, "", level, self.condition)


def local(why: str) -> Refused:
    """Say that the client does not do it."""
    return Refused(Kind.LOCAL, why)


def error_of(said: Close | End | Detach) -> Error | None:
    """Give the error that something ends with, if it can be read."""
    found = said.carried("error")
    return found if isinstance(found, Error) else None


def ended_by(level: str, said: Close | End | Detach) -> Refused:
    """Say that the server has ended a connection, session or link."""
    error = error_of(said)
    if error is None:
        return Refused(Kind.CLOSED, f"the server ended the {level}", "", level)
    return Refused(Kind.CLOSED, error.description or "", "", level, str(error.condition))
