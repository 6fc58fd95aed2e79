"""2.6.13 and 2.7.3, of clients: unsettled maps that are not complete, of the server and of their own."""

from harness.amqp1_0.broken.deviations import (
    forwards,
    ignores,
    of_client,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import detached
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedReceiver, JudgedSender
from harness.amqp1_0.wire.frames import MIN_MAX_FRAME_SIZE
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Detach,
    Disposition,
    End,
    Error,
    Open,
    Role,
    Transfer,
)
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.clients.links.resumption import (
    CREDIT,
    NOBODYS,
    Held,
    has_map,
    is_incomplete,
    is_nobodys,
    is_resumed,
    resumed,
    says_map,
    stated,
    suspended_receiver,
    suspended_sender,
    tags_of,
    tries_again,
)
from scenarios.amqp1_0.links.resumption import resumption_of
from scenarios.amqp1_0.talk import CLIENT, hears
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
SMALL = rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE)
MANY = tuple(b"%d" % number for number in range(1000, 1150))
"""Tags of deliveries that do not fit into such a frame together."""


# -- the server's map is incomplete --------------------------------------------------------------------


def in_part(client: Client, count: int = 2) -> tuple[JudgedSender, list[bytes], Held]:
    """Have the client resume a link of which the server's map names the first delivery, and is not whole."""
    held = Held()
    link, tags = suspended_sender(client, held.told, count=count)
    held.unsettled, held.incomplete = {tags[0]: None}, True
    return resumed(link), tags, held


@scenario("1-0/2.6.13.incomplete-reduced", role=CLIENT)
@broken_by("does nothing", ignores(Transfer, when=is_resumed), CLIENT)
def a_client_resumes_what_an_incomplete_map_names(client: Client) -> None:
    """Of two unsettled deliveries the server's incomplete map names one, which is resumed."""
    again, (first, _), _ = in_part(client)
    again.expect(resumption_of(first))


@scenario("1-0/2.7.3.incomplete-no-new", role=CLIENT)
@broken_by("takes it for complete", rewrites(Attach, when=is_incomplete, incomplete_unsettled=False), CLIENT)
@broken_by("sends another", forwards(Transfer, when=is_resumed, resume=False), CLIENT)
def a_client_sends_nothing_new_behind_an_incomplete_map(client: Client) -> None:
    """The server's map names one of two deliveries, and is not whole: nothing that comes is new."""
    again, _, _ = in_part(client)
    client.attempted("send", on=again.on, body="new", wait=False)
    hears(again.session)
    new = tags_of(again, resume=False)
    client.judge("no new delivery", f"{len(new)} new deliveries", not new)


@scenario("1-0/2.7.3.complete-again", role=CLIENT)
@broken_by(
    "takes what was left out for settled", forwards(Attach, when=has_map, skip=1, unsettled={}), CLIENT
)
@broken_by("sends nothing new for ever", rewrites(Attach, when=says_map, incomplete_unsettled=True), CLIENT)
def what_an_incomplete_map_left_out_is_resumed_by_a_client_later(client: Client) -> None:
    """Behind an incomplete map of the server's a complete one: the rest is resumed, a new message comes."""
    part, (first, second), held = in_part(client)
    said = part.expect(resumption_of(first))
    part.session.says(Disposition(Role.RECEIVER, said.delivery_id, None, True, Accepted()))
    part.detach()
    held.unsettled, held.incomplete = {second: None}, False
    whole = resumed(part)
    client.judge("the other in its map", "not the other in its map", second in stated(whole.attach))
    whole.expect(resumption_of(second))
    whole.hands_over("new")
    new = whole.expect(Transfer)
    client.judge("a new delivery", "a resumed one", not new.resume)


# -- the client's map is incomplete --------------------------------------------------------------------


def with_many(client: Client) -> JudgedReceiver:
    """Give a suspended link with more deliveries unsettled than the server's frames have room for tags."""
    return suspended_receiver(client, SMALL, Held(MANY[0]).told, tags=MANY)


@scenario("1-0/2.7.3.map-too-large", role=CLIENT)
@broken_by("takes its part for all", forwards(Attach, when=is_incomplete, incomplete_unsettled=False), CLIENT)
@broken_by(
    "ends the session for another reason", of_client(replaces(Attach, End(OURS), when=is_incomplete)), CLIENT
)
def a_map_of_a_client_that_is_too_large_is_incomplete(client: Client) -> None:
    """150 deliveries are unsettled, the server takes frames of 512 octets: the client's map is incomplete."""
    link = with_many(client)
    session = link.session
    before = len(session.sent(Attach))
    session.tries_receiver(str(link.attach.source.address), name=link.attach.name)
    ends = [each.error.condition for each in session.sent(End) if each.error is not None]
    if ends:
        client.judge(
            "an incomplete map",
            f"end {ends[0]}",
            ends == [AmqpError.FRAME_SIZE_TOO_SMALL],
            "the session may be ended with frame-size-too-small",
        )
        return
    said = session.sent(Attach)[before:]
    if not said or not said[0].unsettled:
        raise Inapplicable("the client has nothing unsettled when it attaches a link again")
    client.judge("an incomplete map", "a map that is complete", bool(said[0].incomplete_unsettled))


@scenario("1-0/2.7.3.incomplete-refuses-new", role=CLIENT)
@broken_by("lets it be", withholds(Transfer, when=is_nobodys), CLIENT)
@broken_by("takes it for resumed", rewrites(Transfer, when=is_nobodys, resume=True), CLIENT)
@broken_by("says nothing", ignores(Detach, skip=1), CLIENT)
def a_new_delivery_behind_a_clients_incomplete_map_is_refused(client: Client) -> None:
    """Where the client's map is incomplete it answers a new delivery by a detach with an error."""
    said, again = tries_again(with_many(client), credit=CREDIT)
    if not said.incomplete_unsettled or not isinstance(again, JudgedReceiver):
        raise Inapplicable("the map of the client is complete")
    again.server_transfers(message(b"new"), delivery_tag=NOBODYS)
    again.expect(detached())
