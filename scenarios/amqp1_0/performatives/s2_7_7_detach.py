"""2.7.7 Detach: its form, its error, and the handle that it frees."""

from harness.amqp1_0.broken.deviations import forwards, ignores, rejects, respells, rewrites
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import answered
from harness.amqp1_0.client.transcript import UNREAD, Framed, Passage
from harness.amqp1_0.wire.performatives import (
    Accepted,
    Attach,
    Detach,
    Error,
    Role,
    SessionError,
    Source,
    Target,
)
from harness.amqp1_0.wire.types import As, Described, Map, Ulong
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG, STR8, carries, held_against
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

has_error = carries("error")


@watch(
    "1-0/2.7.7.detach-well-formed",
    during="1-0/2.6.6.close-answered",
    looks_at=came(Detach, UNREAD),
    until=OURS_IS_WRONG,
    of_clients=TALK,
)
@broken_by("has no handle", forwards(Detach, handle=None), CLIENT)
@broken_by("has a text for closed", forwards(Detach, closed=As(STR8, "yes")), CLIENT)
@broken_by("has no handle", rewrites(Detach, handle=None))
@broken_by("has a text for closed", rewrites(Detach, closed=As(STR8, "yes")))
@broken_by("has four fields", respells(Detach, lambda said: said.sent_as(unknown=("more",))))
@broken_by("detaches with a map", respells(Detach, lambda _: Described(Ulong(Detach.spec.code), Map())))
@broken_by("detaches because of an outcome", rewrites(Detach, error=Accepted()))
def every_detach_is_as_defined(each: Framed) -> Found:
    """Every detach of the run is a list of at most three fields of their types."""
    return held_against(Detach, each)


@watch(
    "1-0/2.7.7.detach-error-details",
    during="1-0/2.6.3.unknown-link-has-no-terminus",
    looks_at=came(Detach),
    never="the target detaches no link with an error",
    of_clients="1-0/2.6.7.excess-taken-or-refused",
)
@broken_by(
    "says no more", forwards(Detach, when=has_error, error=lambda it: it.replace(description=None)), CLIENT
)
@broken_by("says no more", rewrites(Detach, when=has_error, error=lambda it: it.replace(description=None)))
def every_error_of_a_detach_has_details(each: Passage) -> Found:
    """Every detach with an error of the run has a description, or an info map that is not empty."""
    error = each.said.error
    if not isinstance(error, Error):
        return None
    return bool(error.description or error.info) or f"detach at {each.at:.4f} s without details"


@scenario("1-0/2.7.7.handle-free-again", needs={"address"})
@broken_by("keeps the handle", rejects(Attach, SessionError.HANDLE_IN_USE, skip=1))
def a_handle_is_free_behind_the_detach(container: Container) -> None:
    """Three links, one after the other, are attached on the same handle."""
    address, session = container.address(), container.session()
    session.receiver(address, handle=0).detach()
    for _ in range(2):
        ours = session.the_attach(Role.RECEIVER, handle=0, source=Source(address), target=Target())
        session.tries(ours, Attach)
        session.ask(Detach(0, True), Detach)


@scenario("1-0/2.7.7.handle-free-unclosed", needs={"address"})
@broken_by("keeps the handle", rejects(Attach, SessionError.HANDLE_IN_USE, skip=2))
@broken_by("waits for a detach that closes", ignores(Detach, when=lambda said: not said.closed))
def a_handle_is_free_behind_a_detach_that_does_not_close(container: Container) -> None:
    """Behind a detach that does not close another link is attached on its handle."""
    address, session = container.address(), container.session()
    session.receiver(address, handle=0).detach()
    session.receiver(address, handle=0)
    other = session.the_attach(Role.RECEIVER, handle=0, source=Source(address), target=Target())
    session.send(Detach(0), other)
    if isinstance(session.expect(answered(Attach, Detach)), Detach):
        session.expect(Attach)
