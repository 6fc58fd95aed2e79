"""2.6.2, 2.6.3 and 2.8.15, of clients: links that the server attaches to them."""

from typing import Any

from harness.amqp1_0.broken.deviations import (
    Interposer,
    answers,
    forwards,
    ignores,
    of_client,
    rewrites,
)
from harness.amqp1_0.client.outcomes import answered, detached, ended_or_closed, fields
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.frames import MIN_MAX_FRAME_SIZE
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    End,
    Error,
    Open,
    Role,
    Source,
    Target,
)
from harness.amqp1_0.wire.types import Map
from harness.peers.interposer import Condition
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.clients.links.offers import (
    DEAF,
    HANDLE,
    OFFERED,
    an_offer,
    is_answered,
    is_taken,
    offers,
    own_terminus,
)
from scenarios.amqp1_0.definitions.s2_8_15_what_is_refused import LONG, called
from scenarios.amqp1_0.links.s2_6_3_establishing_a_link import FILTER, NOBODYS, has_filter
from scenarios.amqp1_0.talk import CLIENT, goes_on
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
ROLES = (Role.RECEIVER, Role.SENDER)
OTHERS = (detached() | ended_or_closed()).under("it is refused, without the attach that says what is missing")
NOT_RECOVERED = (detached() | ended_or_closed()).under("it is possible to recover a link, and no more")


def is_offered(said: Attach) -> bool:
    return str(said.name).startswith(OFFERED)


def takes(when: Condition = is_offered, **termini: Any) -> Interposer:
    """Takes a link that the server attaches, with these termini of its own."""
    return forwards(Attach, when=when, **termini) + ignores(Detach, when=lambda it: it.error is not None)


# -- without a terminus --------------------------------------------------------------------------------


@scenario("1-0/2.6.2.half-attached", role=CLIENT)
@broken_by("does not answer", ignores(Detach), CLIENT)
@broken_by("ends the session for it", of_client(answers(Detach, End(OURS))), CLIENT)
def a_link_to_a_client_is_closed_before_it_is_answered(client: Client) -> None:
    """An attach of the server's and its closing detach in a single write: both are answered, all goes on."""
    is_answered(client)
    session = offers(client, an_offer(Role.SENDER), Detach(HANDLE, True))
    session.expect(answered(Attach))
    session.expect(answered(Detach))
    goes_on(session)


@scenario("1-0/2.6.3.unknown-link-has-no-terminus", role=CLIENT)
@broken_by("makes one up", forwards(Attach, when=is_offered, source=Source("z"), target=Target("z")), CLIENT)
@broken_by("does not answer", ignores(Attach, when=is_offered) + ignores(Detach), CLIENT)
def a_client_has_no_terminus_of_a_link_that_nobody_knows(client: Client) -> None:
    """Attaches of the server's that ask for a link of before are answered by attaches without a terminus."""
    for role, lacks in zip(ROLES, ("source", "target"), strict=True):
        session = offers(client, an_offer(role, unsettled=Map(), **{lacks: None}))
        session.expect(fields(Attach, **{lacks: None}), OTHERS)


@scenario("1-0/2.6.3.terminus-created-or-not", role=CLIENT)
@broken_by("says nothing", ignores(Attach, when=is_offered) + ignores(Detach), CLIENT)
@broken_by("stays attached to nothing", ignores(Detach), CLIENT)
def a_client_answers_an_attach_to_nothing(client: Client) -> None:
    """Links of the server's to what the client has not are attached to what is made for them, or refused."""
    for role in ROLES:
        session = offers(client, an_offer(role))
        seen = session.expect(answered(Attach), OTHERS)
        if isinstance(seen, Attach) and own_terminus(seen) is None:
            session.expect(answered(Detach))


@scenario("1-0/2.8.15.not-found", role=CLIENT)
@broken_by("has another condition", forwards(Detach, error=OURS), CLIENT)
@broken_by("gives no reason", forwards(Detach, error=None), CLIENT)
def what_a_client_has_not_is_not_found(client: Client) -> None:
    """A receiver of the server's from an address that the client has not is refused with not-found."""
    fitting, other = called(AmqpError.NOT_FOUND)
    session = offers(client, an_offer(Role.RECEIVER))
    seen = session.expect(fitting | answered(Attach), other)
    if isinstance(seen, Attach):
        if own_terminus(seen) is not None:
            raise Inapplicable("the client makes what the server asks for")
        session.expect(fitting, other)


@scenario("1-0/2.8.15.frame-size-too-small", role=CLIENT)
@broken_by("has another condition", forwards(End, error=OURS), CLIENT)
@broken_by("gives no reason", forwards(End, error=None), CLIENT)
@broken_by("answers in a large frame", rewrites(Open, max_frame_size=65536), CLIENT)
def an_answer_of_a_client_that_fits_into_no_frame_is_refused(client: Client) -> None:
    """To a server that takes frames of 512 octets an attach of a name of 600 is refused for that."""
    small = rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE)
    is_answered(client)
    session = offers(client, an_offer(Role.SENDER, name=OFFERED.ljust(LONG, "x")), meets=DEAF + small)
    if int(session.connection.opened.max_frame_size) < 2 * LONG:
        raise Inapplicable("the client takes no frame that large itself")
    session.expect(*called(AmqpError.FRAME_SIZE_TOO_SMALL))


# -- with one ------------------------------------------------------------------------------------------


@scenario("1-0/2.6.3.actual-properties", role=CLIENT)
@broken_by("says what was asked for", takes(source=Source("x", filter=FILTER)), CLIENT)
def a_client_reports_no_filter_that_nobody_knows(client: Client) -> None:
    """The client answers a receiver of the server's, with a filter nobody knows, by a source without it."""
    is_taken(client, Role.RECEIVER)
    session = offers(client, an_offer(Role.RECEIVER, source=Source("x", filter=FILTER)))
    seen = session.expect(answered(Attach), OTHERS.recorded())
    if not isinstance(seen, Attach) or seen.source is None:
        raise Inapplicable("the client refuses a filter that it does not know")
    told = getattr(seen.source, "filter", None)
    kept = isinstance(told, Map) and any(name == NOBODYS for name, _ in told.pairs)
    client.judge("a source without that filter", "a source with a filter that nobody knows", not kept)


@scenario("1-0/2.6.3.not-preempted", role=CLIENT)
@broken_by(
    "refuses it",
    takes(source=Source("x")) + of_client(answers(Attach, Detach(0, True, OURS), when=has_filter)),
    CLIENT,
)
def what_a_client_lacks_it_leaves_to_the_server(client: Client) -> None:
    """The client answers a receiver of the server's, with a filter that nobody knows, by a source."""
    is_taken(client, Role.RECEIVER)
    session = offers(client, an_offer(Role.RECEIVER, source=Source("x", filter=FILTER)))
    seen = session.expect(Attach)
    client.judge("an attach with a source", "an attach without a source", seen.source is not None)


@scenario("1-0/2.6.3.recovered", role=CLIENT)
@broken_by(
    "has forgotten it", takes(lambda it: it.name == OFFERED and not it.handle, target=Target("z")), CLIENT
)
def a_link_of_a_client_is_recovered_by_its_name(client: Client) -> None:
    """The server detaches a link of the client's and attaches it again without target: the client has it."""
    is_taken(client, Role.SENDER)
    session = client.session(ignores(Attach, when=is_offered, skip=1) + ignores(Detach))
    session.sender()
    link = session.receiver(client.name("node"), name=OFFERED)
    session.says(Detach(link.server_handle))
    link.expect(answered(Detach))
    again = an_offer(Role.SENDER, source=link.attach.source, target=None, unsettled=Map())
    session.says(again)
    seen = session.expect(answered(Attach), NOT_RECOVERED)
    if isinstance(seen, Attach):
        client.judge("an attach with the target", "an attach without the target", seen.target is not None)
