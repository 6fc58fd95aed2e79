"""2.7.8 End: its form, and the error that it may carry."""

from harness.amqp1_0.broken.deviations import forwards, of_client, respells, rewrites
from harness.amqp1_0.client.transcript import UNREAD, Framed, Passage
from harness.amqp1_0.wire.performatives import Accepted, End, Error
from harness.amqp1_0.wire.types import As, Described, Map, Ulong
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import STR8, carries, held_against
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, watch

has_error = carries("error")


@watch(
    "1-0/2.7.8.end-well-formed", during="1-0/2.5.4.unable-ends", looks_at=came(End, UNREAD), of_clients=TALK
)
@broken_by("has two fields", of_client(respells(End, lambda said: said.sent_as(unknown=("more",)))), CLIENT)
@broken_by("has two fields", respells(End, lambda said: said.sent_as(unknown=("more",))))
@broken_by("ends with a map", respells(End, lambda _: Described(Ulong(End.spec.code), Map())))
@broken_by("ends because of an outcome", rewrites(End, when=has_error, error=Accepted()))
@broken_by("ends because of a text", rewrites(End, when=has_error, error=As(STR8, "no")))
def every_end_is_as_defined(each: Framed) -> Found:
    """Every end of the run is a list of at most one field, an error."""
    return held_against(End, each)


@watch(
    "1-0/2.7.8.end-error-details",
    during="1-0/2.5.4.unable-ends",
    looks_at=came(End),
    never="the target ends no session with an error",
    of_clients="1-0/2.5.4.unable-ends",
)
@broken_by(
    "says no more", forwards(End, when=has_error, error=lambda it: it.replace(description=None)), CLIENT
)
@broken_by("says no more", rewrites(End, when=has_error, error=lambda it: it.replace(description=None)))
@broken_by(
    "has an empty text",
    rewrites(End, when=has_error, error=lambda error: error.replace(description="", info={})),
)
def every_error_of_an_end_has_details(each: Passage) -> Found:
    """Every end with an error of the run has a description, or an info map that is not empty."""
    error = each.said.error
    if not isinstance(error, Error):
        return None
    return bool(error.description or error.info) or f"end at {each.at:.4f} s without details"
