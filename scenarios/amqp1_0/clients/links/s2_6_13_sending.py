"""2.6.3, 2.6.13 and 2.7.5, of clients: links on which they send are resumed."""

from harness.amqp1_0.broken.deviations import (
    answers,
    follows,
    forwards,
    ignores,
    of_client,
    rewrites,
    withholds,
)
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.frames import MIN_MAX_FRAME_SIZE
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Disposition,
    End,
    Error,
    Open,
    Role,
    Transfer,
)
from scenarios.amqp1_0.clients.links.resumption import (
    NOBODYS,
    Held,
    has_map,
    is_resumed,
    resumed,
    stated,
    suspended_sender,
    tags_of,
    tries_again,
)
from scenarios.amqp1_0.links.resumption import resumption_of
from scenarios.amqp1_0.talk import CLIENT, goes_on, hears
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
LARGE = {"fill": 1500}
"""A body that takes several of the smallest frames."""


@scenario("1-0/2.6.3.unsettled-stated", role=CLIENT)
@broken_by("has an empty map", forwards(Attach, when=has_map, unsettled={}), CLIENT)
@broken_by("has another tag", forwards(Attach, when=has_map, unsettled={NOBODYS: None}), CLIENT)
def a_client_that_sends_says_what_is_unsettled(client: Client) -> None:
    """The attach by which the client resumes a link has the delivery that it has sent and not settled."""
    link, (tag,) = suspended_sender(client)
    said, _ = tries_again(link)
    client.judge("the delivery in its unsettled map", "no such delivery in it", tag in stated(said))


@scenario("1-0/2.6.13.target-only-ignored", role=CLIENT)
@broken_by(
    "resumes it", of_client(follows(Attach, Transfer(0, 9, NOBODYS, 0, resume=True), when=has_map)), CLIENT
)
@broken_by("wants to know it", of_client(answers(Attach, End(OURS), when=has_map)), CLIENT)
def what_only_the_server_has_is_ignored_by_a_client_that_sends(client: Client) -> None:
    """The server's map has a delivery that the client never sent: none of that tag comes, and all goes on."""
    link, _ = suspended_sender(client, Held(NOBODYS).told)
    again = resumed(link)
    goes_on(again.session)
    came = [*tags_of(again, resume=True), *tags_of(again, resume=False)]
    client.judge("no delivery of that tag", "a delivery of that tag", NOBODYS not in came)


@scenario("1-0/2.6.13.both-resumed", role=CLIENT)
@broken_by("keeps it for itself", ignores(Transfer, when=is_resumed), CLIENT)
@broken_by("sends it as if it were new", forwards(Transfer, when=is_resumed, resume=False), CLIENT)
@broken_by("gives it another tag", forwards(Transfer, when=is_resumed, delivery_tag=NOBODYS), CLIENT)
def what_both_have_is_resumed_by_a_client(client: Client) -> None:
    """A delivery in both maps comes again, with resume and its tag."""
    held = Held()
    link, (tag,) = suspended_sender(client, held.told)
    held.unsettled = {tag: None}
    resumed(link).expect(resumption_of(tag))


@scenario("1-0/2.6.13.resumed-anew", role=CLIENT)
@broken_by("has the id of before", forwards(Transfer, when=is_resumed, delivery_id=0), CLIENT)
@broken_by("does not know the new id", withholds(Disposition, when=lambda it: it.first > 0), CLIENT)
def a_delivery_resumed_by_a_client_has_an_id_of_its_own(client: Client) -> None:
    """A resumed delivery has another delivery-id than before, and is accepted by that one."""
    held = Held()
    link, (tag,) = suspended_sender(client, held.told)
    held.unsettled = {tag: None}
    again = resumed(link)
    said = again.expect(resumption_of(tag))
    before = link.deliveries()[0].id
    client.judge("another delivery-id", "the delivery-id of before", said.delivery_id != before)
    again.session.says(Disposition(Role.RECEIVER, said.delivery_id, None, True, Accepted()))
    outcomes = [str(each.told.get("outcome")) for each in again.connection.tells("outcome")]
    client.judge("accepted", ", ".join(outcomes) or "no outcome", outcomes == ["accepted"])


@scenario("1-0/2.7.3.states-compared", role=CLIENT)
@broken_by("does not look at the map", rewrites(Attach, when=has_map, unsettled={}), CLIENT)
def what_the_server_has_accepted_does_not_come_as_new(client: Client) -> None:
    """A delivery that the server's map says is accepted is resumed, if it comes, and not sent as new."""
    held = Held()
    link, (tag,) = suspended_sender(client, held.told)
    held.unsettled = {tag: Accepted()}
    again = resumed(link)
    hears(again.session)
    new = tags_of(again, resume=False)
    client.judge("no new delivery", f"{len(new)} new deliveries", not new)


@scenario("1-0/2.7.5.resume-on-the-first", role=CLIENT)
@broken_by(
    "says it at the end", forwards(Transfer, when=lambda it: it.resume and it.more, resume=False), CLIENT
)
@broken_by("says it nowhere", forwards(Transfer, when=is_resumed, resume=False), CLIENT)
def the_first_transfer_of_a_delivery_resumed_by_a_client_says_so(client: Client) -> None:
    """A message of several frames is resumed: its first transfer says resume."""
    held = Held()
    small = rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE)
    link, (tag,) = suspended_sender(client, held.told, small, body=LARGE)
    held.unsettled = {tag: None}
    first = resumed(link).expect(Transfer)
    client.judge("resume on its first transfer", "no resume on its first transfer", bool(first.resume))
