"""2.7.9 Close: its form, and the error that it may carry."""

from harness.amqp1_0.broken.deviations import ends_stream, ignores, of_client, respells, rewrites
from harness.amqp1_0.broken.faults import does, end_stream
from harness.amqp1_0.broken.loose import Turn
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import closed, closed_without_error
from harness.amqp1_0.client.transcript import UNREAD, Framed, Passage
from harness.amqp1_0.peer.events import ConnectionState
from harness.amqp1_0.wire.performatives import Accepted, AmqpError, Close, Error
from harness.amqp1_0.wire.types import As, Described, Map, Ulong
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import carries, held_against
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

OURS = Error(AmqpError.INTERNAL_ERROR, "the suite closes because of an error")
has_error = carries("error")


@watch(
    "1-0/2.7.9.close-well-formed",
    during="1-0/2.8.15.decode-error",
    looks_at=came(Close, UNREAD),
    of_clients=TALK,
)
@broken_by(
    "has two fields", of_client(respells(Close, lambda said: said.sent_as(unknown=("more",)))), Role.CLIENT
)
@broken_by("has two fields", respells(Close, lambda said: said.sent_as(unknown=("more",))))
@broken_by("closes with a map", respells(Close, lambda _: Described(Ulong(Close.spec.code), Map())))
@broken_by("closes because of an outcome", rewrites(Close, when=has_error, error=Accepted()))
@broken_by("closes because of a text", rewrites(Close, when=has_error, error=As(0xA1, "no")))
def every_close_is_as_defined(each: Framed) -> Found:
    """Every close of the run is a list of at most one field, an error."""
    return held_against(Close, each)


@scenario("1-0/2.7.9.close-without-error")
@broken_by("takes a null for a fault", ignores(Close, when=lambda said: said.elements() == (None,)))
@broken_by("takes a missing field for a fault", ignores(Close, when=lambda said: said.elements() == ()))
@broken_by("ends the stream without a close", ends_stream(Close))
@broken_by("answers with an error", rewrites(Close, error=OURS))
def close_without_error_is_answered(container: Container) -> None:
    """A close that is an empty list, and one of a list of one null, is answered by a close without error."""
    for elements in (0, 1):
        container.connection().fence().tries(Close().sent_as(width=elements), closed_without_error())


def brings_an_error(turn: Turn) -> bool:
    return turn.event.error is not None


@scenario("1-0/2.7.9.close-with-error-answered")
@broken_by("does not answer", ignores(Close, when=has_error))
@broken_by(
    "ends the stream without a close", does(ConnectionState.OPENED, Close, brings_an_error, end_stream)
)
def close_with_error_is_answered(container: Container) -> None:
    """A close with an error is answered by a close, as one without."""
    container.connection().ask(Close(), Close)
    faulty = container.connection()
    faulty.send(Close(OURS))
    faulty.expect(closed_without_error(), closed().recorded("the answer may have an error of its own"))


@watch(
    "1-0/2.7.9.error-details",
    during="1-0/2.8.15.decode-error",
    looks_at=came(Close),
    of_clients="1-0/2.8.15.decode-error",
)
@broken_by(
    "says no more",
    of_client(rewrites(Close, when=has_error, error=lambda it: it.replace(description=None))),
    Role.CLIENT,
)
@broken_by("says no more", rewrites(Close, when=has_error, error=lambda it: it.replace(description=None)))
@broken_by(
    "has an empty text",
    rewrites(Close, when=has_error, error=lambda error: error.replace(description="", info={})),
)
def every_error_of_a_close_has_details(each: Passage) -> Found:
    """Every close with an error of the run has a description, or an info map that is not empty."""
    error = each.said.error
    if not isinstance(error, Error):
        return None
    return bool(error.description or error.info) or f"close at {each.at:.4f} s without details"
