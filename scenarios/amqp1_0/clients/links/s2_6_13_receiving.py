"""2.6.3, 2.6.13 and 2.7.5, of clients: links on which they receive are resumed."""

from harness.amqp1_0.broken.deviations import answers, forwards, of_client, rewrites, withholds
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import covers
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Close,
    Disposition,
    Error,
    Transfer,
)
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.clients.links.resumption import (
    CREDIT,
    NOBODYS,
    NOT_RESUMED,
    OTHER,
    TAG,
    Held,
    has_map,
    is_nobodys,
    is_resumed,
    resumed,
    says_map,
    stated,
    suspended_receiver,
    tries_again,
)
from scenarios.amqp1_0.talk import CLIENT, arrives, goes_on, hears
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
NEVER = "never"
NOTHING = b""
"""What a transfer carries where all has come before."""


def is_new(said: Transfer) -> bool:
    return not said.resume


# -- what its attach says ------------------------------------------------------------------------------


@scenario("1-0/2.6.3.target-states-unsettled", role=CLIENT)
@broken_by("has an empty map", forwards(Attach, when=has_map, unsettled={}), CLIENT)
@broken_by("has another tag", forwards(Attach, when=has_map, unsettled={NOBODYS: None}), CLIENT)
def a_client_that_receives_says_what_is_unsettled(client: Client) -> None:
    """The attach by which the client resumes a link has the delivery that it has got and not settled."""
    said, _ = tries_again(suspended_receiver(client, Held(TAG).told))
    client.judge("the delivery in its unsettled map", "no such delivery in it", TAG in stated(said))


@scenario("1-0/2.6.13.outlives-the-session", role=CLIENT)
@broken_by("forgets what was unsettled", forwards(Attach, when=has_map, unsettled={}), CLIENT)
def a_link_of_a_client_that_never_expires_outlives_session_and_connection(client: Client) -> None:
    """A link that never expires is resumed behind the end of its session, and of its connection."""
    served, container = client.server(Held(TAG).told), client.name("container")
    name, address = client.name("link"), client.name("node")
    refused, on = client.tries_to_connect(served, container=container)
    connection = client.at(served, on, refused)
    link = connection.session().receiver(address, credit=1, name=name, expiry=NEVER)
    if any(each.expiry_policy != NEVER for each in (link.attach.source, link.attach.target)):
        raise Inapplicable("the client lets its termini expire with the session")
    link.server_transfers(message(TAG), delivery_tag=TAG)
    link.messages(1)
    link.session.end()
    again = connection.session().receiver(address, name=name, expiry=NEVER)
    if again.attach.unsettled is None:
        raise Inapplicable(NOT_RESUMED)
    client.judge("the delivery behind the session", "no delivery", TAG in stated(again.attach))
    connection.close()
    refused, on = client.tries_to_connect(served, container=container)
    last = client.at(served, on, refused).session().receiver(address, name=name, expiry=NEVER)
    client.judge("the delivery behind the connection", "no delivery", TAG in stated(last.attach))


# -- what only one side has ----------------------------------------------------------------------------


@scenario("1-0/2.6.13.source-only-sent-again", role=CLIENT)
@broken_by("takes it for known", withholds(Transfer, when=is_nobodys), CLIENT)
@broken_by("wants it resumed", of_client(answers(Transfer, Close(OURS), when=is_nobodys)), CLIENT)
def what_only_the_server_has_can_be_sent_to_a_client_again(client: Client) -> None:
    """A delivery of the server's map that the client's has not comes again without resume: it arrives."""
    again = resumed(suspended_receiver(client, Held(TAG, NOBODYS).told), credit=CREDIT)
    again.server_transfers(message(b"again"), delivery_tag=NOBODYS)
    arrives(again, "again")


@scenario("1-0/2.6.13.source-only-ignored", role=CLIENT)
@broken_by("takes it for new", rewrites(Transfer, when=is_nobodys, resume=None), CLIENT)
@broken_by("loses the next one, too", withholds(Transfer, when=is_new, skip=1), CLIENT)
def what_only_the_server_has_is_ignored_where_it_is_resumed(client: Client) -> None:
    """Of a resumed delivery that the client's map has not and a new one the new one alone arrives."""
    again = resumed(suspended_receiver(client, Held(TAG, NOBODYS).told), credit=CREDIT)
    again.server_transfers(message(b"resumed"), delivery_tag=NOBODYS, resume=True)
    again.server_transfers(message(b"new"))
    arrives(again, "new")


@scenario("1-0/2.6.13.target-only-settled", role=CLIENT)
@broken_by("keeps it", rewrites(Attach, when=says_map, incomplete_unsettled=True), CLIENT)
def what_only_a_receiving_client_has_is_settled(client: Client) -> None:
    """A delivery that the server's map has not is not in the client's when the link is attached once more."""
    again = resumed(suspended_receiver(client, Held().told))
    if TAG not in stated(again.attach):
        raise Inapplicable("the client has nothing unsettled when it resumes a link")
    again.detach()
    session = again.session
    before = len(session.sent(Attach))
    session.tries_receiver(str(again.attach.source.address), name=again.attach.name)
    kept = [TAG in stated(each) for each in session.sent(Attach)[before:]]
    client.judge("the delivery is settled", "the delivery is unsettled still", kept == [False])


# -- what both sides have ------------------------------------------------------------------------------


@scenario("1-0/2.7.5.continuation-resume-flag", role=CLIENT)
@broken_by("wants resume on each", withholds(Transfer, when=is_new, skip=2), CLIENT)
@broken_by(
    "wants it on none but the first", withholds(Transfer, when=lambda it: it.resume and not it.more), CLIENT
)
def later_transfers_to_a_client_of_a_resumed_delivery_may_say_so(client: Client) -> None:
    """Deliveries are resumed in two transfers, the second with resume or without: the client settles them."""
    tags = (TAG, OTHER)
    link = suspended_receiver(client, Held(*tags).told, tags=tags)
    again = resumed(link, credit=CREDIT)
    first = again.session.server.next_delivery_id
    for tag, flag in zip(tags, (None, True), strict=True):
        again.server_transfers(NOTHING, delivery_tag=tag, resume=True, more=True)
        again.server_transfers(NOTHING, delivery_tag=tag, resume=flag)
    again.server_transfers(message(b"next"))
    arrives(again, "next")
    for each in link.messages(2):
        link.tries_to_settle(each)
    hears(again.session)
    said = again.session.sent(Disposition)
    settled = [any(covers(each, first + number) for each in said) for number in range(2)]
    client.judge("dispositions for both", "no disposition for one", all(settled))


@scenario("1-0/2.7.5.resumed-without-payload", role=CLIENT)
@broken_by("wants its payload", of_client(answers(Transfer, Close(OURS), when=is_resumed)), CLIENT)
@broken_by("loses what comes behind", withholds(Transfer, when=is_new, skip=1), CLIENT)
def a_delivery_resumed_to_a_client_needs_no_payload(client: Client) -> None:
    """A delivery is resumed and settled without a payload: the next one arrives, and the session goes on."""
    again = resumed(suspended_receiver(client, Held(TAG).told), credit=CREDIT)
    again.server_transfers(NOTHING, delivery_tag=TAG, resume=True, settled=True, state=Accepted())
    again.server_transfers(message(b"next"))
    arrives(again, "next")
    goes_on(again.session)
