"""What can be observed of any peer, whatever protocol it speaks."""

from dataclasses import dataclass

from harness.wire.transport import End


@dataclass(frozen=True, slots=True)
class Closed:
    """The peer closed the socket."""

    how: End


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing that was waited for came in `waited` seconds, and at the end of them nothing at all."""

    waited: float


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The peer sent what no reading of the document allows; `why` without any value that changes by run."""

    why: str
