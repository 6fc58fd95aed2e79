"""Logs that do not say what they should, to be swapped into the reference peer."""

from collections.abc import Callable, Iterable

from harness.amqp0_9_1.broken.loose import Turn

OF_SOCKETS = "closed the socket amid"


def nothing_but_the_start(notes: Iterable[str]) -> Iterable[str]:
    """Says that the peer runs, and nothing of its connections."""
    return list(notes)[:1]


def no_lost_sockets(notes: Iterable[str]) -> Iterable[str]:
    """Says nothing of sockets that the client closed without a word."""
    return [each for each in notes if OF_SOCKETS not in each]


def only_sockets_in_use(notes: Iterable[str]) -> Iterable[str]:
    """Says nothing of sockets that the client closed after our Close."""
    return [each for each in notes if OF_SOCKETS not in each or each.endswith(" OPEN")]


def all_ends_alike(notes: Iterable[str]) -> Iterable[str]:
    """Says of every connection that it has ended, and never how."""
    return [each.partition(":")[0] + " has ended" for each in notes]


def all_but(what: str) -> Callable[[Iterable[str]], Iterable[str]]:
    """Says nothing of connections that ended for what is in the name of a row."""

    def logged(notes: Iterable[str]) -> Iterable[str]:
        return [each for each in notes if what not in each]

    return logged


def note_an_end(turn: Turn) -> None:
    """Notes that a connection has ended where that was in order."""
    turn.note("the client closed the socket amid OPEN")
