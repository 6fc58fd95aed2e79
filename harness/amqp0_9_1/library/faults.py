"""What the client does about what a server must not send (4.2.3, 4.8.1)."""

from harness.shims.contract import Kind, Refused


class Fault(Exception):
    """The server broke the protocol: the client ends the connection with this reply code."""

    def __init__(self, code: int, text: str, class_index: int = 0, method_index: int = 0) -> None:
        super().__init__(text)
        self.code = code
        self.class_index = class_index
        self.method_index = method_index


class Fatal(Exception):
    """What came is no AMQP: the client closes the socket and says nothing more."""


def given_up(why: str) -> Refused:
    """Say that the client has ended the connection by itself."""
    return Refused(Kind.LOCAL, why)


def closed(level: str, code: int, text: str) -> Refused:
    """Say that the server has closed a channel or the connection."""
    return Refused(Kind.CLOSED, text, "", level, code)
