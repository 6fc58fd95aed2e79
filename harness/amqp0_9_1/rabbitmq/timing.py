"""What happens later: by the peer's clock, in a turn of its own."""

from collections.abc import Callable

from harness.amqp0_9_1.peer.deliveries import serve
from harness.amqp0_9_1.peer.turn import AnyTurn


def later(turn: AnyTurn, seconds: float, act: Callable[[AnyTurn], None]) -> float:
    """Have `act` called in so many seconds with a turn like this one; returns that time by the peer's clock.

    Whether it still has to be done, `act` finds out. What becomes deliverable by it is delivered.
    """
    again = turn.about(turn.event, turn.subject)

    def due() -> None:
        act(again)
        serve(again.peer, again.host)

    return turn.peer.after(seconds, due)
