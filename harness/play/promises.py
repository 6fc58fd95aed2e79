"""What facilities of a target promise: a look uses what a facility gave, as scenarios do.

A look raises Stop where the promise is not kept, KeyError where the facility did not give what is needed.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from harness.play.expect import Stop
from harness.play.fixture import Fixture
from harness.targets.target import Target

Visitor = TypeVar("Visitor")


class Broken(Exception):
    """A facility of a target is not what its description promises; the message is one sentence."""


Look = Callable[[Visitor, Mapping[str, str]], str]
"""Uses what a facility gave, as a visitor of the target, and says what was seen."""
Promise = Callable[[Target, Mapping[str, str], float], str]
"""Uses what a facility of a started target gave, within so many seconds, and says what was seen.

Raises Broken, or Unreachable when the target does not answer at all.
"""


def promised(
    visit: Callable[[Target, float], AbstractContextManager[Visitor]], look: Look[Visitor]
) -> Promise:
    """Make a promise of a look: someone who `visit`s the target looks at what a facility gave."""

    def tries(target: Target, given: Mapping[str, str], within: float) -> str:
        try:
            with visit(target, within) as visitor:
                return look(visitor, given)
        except Stop as failure:
            raise Broken(str(failure)) from None
        except KeyError as failure:
            raise Broken(f"it returns no {failure.args[0]}, which checks need") from None

    return tries


def keep_alive(fixture: Fixture[Any], given: Mapping[str, str]) -> str:
    """See the target's own socket of a connection."""
    if missing := {"clients", "kept-alive"} - given.keys():
        raise KeyError(min(missing))
    on = fixture.keeps_alive(fixture.lookout())
    return f"a connection is seen, with keep-alive {'on' if on else 'off'}"
