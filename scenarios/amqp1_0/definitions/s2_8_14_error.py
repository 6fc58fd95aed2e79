"""2.8.14 Error: its form, and the conditions there are."""

from collections.abc import Callable
from typing import Any, Final

from harness.amqp1_0.broken.deviations import Interposer, forwards, of_client, rewrites
from harness.amqp1_0.client.outcomes import ENDINGS
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.wire.composites import choices
from harness.amqp1_0.wire.definitions import departures_of_error, is_error
from harness.amqp1_0.wire.generated import GRAMMAR
from harness.amqp1_0.wire.performatives import Close, End, Error
from harness.amqp1_0.wire.types import As, Described, Map, Symbol, Ulong
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import carries
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, watch
from spec.readers.amqp1_0 import Restricted
from spec.rules import Role

LISTED: Final = {
    str(value)
    for kind in GRAMMAR.providing("error-condition")
    if isinstance(kind, Restricted)
    for value in choices(kind.name).values()
}
"""The conditions of section 2.8."""
OTHER_PARTS: Final = ("amqp:transaction:",)
"""How conditions begin that other parts of the standard define."""


def errs(by: Callable[[Error], Any]) -> Interposer:
    return rewrites(Close, when=carries("error"), error=by)


@watch(
    "1-0/2.8.14.error-well-formed",
    during="1-0/2.8.15.decode-error",
    looks_at=came(*ENDINGS),
    of_clients="1-0/2.5.4.unable-ends",
)
@broken_by(
    "has no condition",
    forwards(End, when=carries("error"), error=lambda error: error.replace(condition=None)),
    CLIENT,
)
@broken_by("has no condition", errs(lambda error: error.replace(condition=None)))
@broken_by("has a string for a condition", errs(lambda error: error.replace(condition=As(0xA1, "why"))))
@broken_by("has a number for a description", errs(lambda error: error.replace(description=As(0x54, 1))))
@broken_by("says more than an error holds", errs(lambda error: error.sent_as(unknown=("more",))))
@broken_by("errs in a map", errs(lambda _: Described(Ulong(Error.spec.code), Map())))
def every_error_is_as_defined(each: Passage) -> Found:
    """Every error of the run is a list of a symbol, a string and a map, of which the symbol is there."""
    if not is_error(each.said.error):
        return None
    wrong = "; ".join(departures_of_error(each.said.error))
    return not wrong or f"error of a {each.said.type_name} at {each.at:.4f} s: {wrong}"


@watch(
    "1-0/2.8.14.condition-known",
    during="1-0/2.8.15.decode-error",
    looks_at=came(Close),
    of_clients="1-0/2.8.15.decode-error",
)
@broken_by(
    "misspells a condition",
    of_client(errs(lambda error: error.replace(condition="amqp:framing-error"))),
    Role.CLIENT,
)
@broken_by("has a condition nobody knows", errs(lambda error: error.replace(condition="amqp:no-idea")))
@broken_by("misspells a condition", errs(lambda error: error.replace(condition="amqp:framing-error")))
def every_condition_is_listed_or_of_another_name(each: Passage) -> Found:
    """The condition of every close of the run is in section 2.8, or does not begin with amqp:."""
    error = each.said.error
    if not isinstance(error, Error) or not isinstance(condition := error.condition, Symbol):
        return None
    known = condition in LISTED or condition.startswith(OTHER_PARTS)
    own = not condition.startswith("amqp:")
    return known or own or f"close at {each.at:.4f} s: {condition[:80]!r}"
