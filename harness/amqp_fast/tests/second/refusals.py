"""How a server refuses: at which level, with which code."""

from __future__ import annotations

from enum import Enum, IntEnum


class Level(Enum):
    """What is closed; the network without a word."""

    NETWORK = "network"
    CONNECTION = "connection"
    CHANNEL = "channel"
    HANDLE = "handle"


class Code(IntEnum):
    """Reply codes. The document names 200, 310, 311, 540 and 542; the others are this server's choice."""

    OK = 200
    NO_MESSAGE = 310
    TOO_LARGE = 311
    NO_ACCESS = 403
    NO_DESTINATION = 404
    IN_USE = 405
    MALFORMED = 501
    UNEXPECTED = 503
    NOT_OPEN = 504
    BEYOND_LIMIT = 506
    NOT_ALLOWED = 530
    NOT_IMPLEMENTED = 540
    INVALID_CONTENTS = 542


class Refusal(Exception):
    """A command is not carried out."""

    def __init__(self, level: Level, code: Code, text: str) -> None:
        super().__init__(text)
        self.level, self.code, self.text = level, code, text


def unless(condition: object, level: Level, code: Code, text: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise Refusal(level, code, text)
