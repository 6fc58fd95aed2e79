"""2.6, 2.6.3, 2.6.4, 2.6.12, 2.7.3 and 2.7.6, of clients: links that are detached, and attached again."""

from harness.amqp1_0.broken.deviations import (
    answers,
    follows,
    forwards,
    ignores,
    of_client,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import answered, covers
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedSender
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    LinkError,
    Role,
    SenderSettleMode,
    Source,
    Transfer,
)
from harness.play.expect import Inapplicable
from harness.shims.contract import Refused
from scenarios.amqp1_0.clients.links.offers import HANDLE, is_answered
from scenarios.amqp1_0.clients.links.resumption import NOBODYS, resumed
from scenarios.amqp1_0.talk import CLIENT, arrives, goes_on, hears
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
SETTLED = SenderSettleMode.SETTLED
SETTLES_NONE = "the client does not settle what has an outcome, as 1-0/2.6.12.settles-behind-an-outcome asks"
SILENT = withholds(Disposition)
"""Our server says nothing of what it has got, but by words of ours."""


# -- detached for an error -----------------------------------------------------------------------------


@scenario("1-0/2.6.resumed-behind-an-error", role=CLIENT)
@broken_by("does not take it", withholds(Attach, when=lambda it: it.unsettled is not None), CLIENT)
@broken_by("gets nothing", withholds(Transfer), CLIENT)
def a_client_resumes_a_link_behind_an_error(client: Client) -> None:
    """A link that the server has detached with an error, and not closed, is resumed, and gets a message."""
    session = client.session()
    link = session.receiver(client.name("node"), name=client.name("link"))
    link.server_detaches(LinkError.DETACH_FORCED, closed=False)
    hears(session)
    if [each.closed for each in link.sent(Detach)] != [False]:
        raise Inapplicable("the client does not answer by a detach that does not close")
    again = resumed(link, credit=1)
    again.server_sends(message(b"x"))
    arrives(again, "x")


# -- updated -------------------------------------------------------------------------------------------


def is_changed(said: Attach) -> bool:
    """Say whether it is the attach of a server that sends, and settles what it sends."""
    return said.role is Role.SENDER and said.snd_settle_mode == SETTLED


@scenario("1-0/2.6.4.updated", role=CLIENT)
@broken_by("does not take it", withholds(Attach, skip=1), CLIENT)
@broken_by("goes on as before", forwards(Transfer, settled=None), CLIENT)
def a_client_updates_the_state_of_a_link(client: Client) -> None:
    """A sender is detached and attached again, to settle what it sends: its next message is settled."""
    session, address, name = client.session(), client.name("node"), client.name("link")
    session.sender(address, name=name).detach()
    again = session.tries_sender(address, name=name, snd="settled")
    client.judge("a link", getattr(again, "told", ""), not isinstance(again, Refused))
    assert isinstance(again, JudgedSender)
    if again.attach.snd_settle_mode != SETTLED:
        raise Inapplicable("the client does not ask for this settlement mode")
    again.hands_over()
    said = again.expect(Transfer)
    client.judge("a settled delivery", "an unsettled delivery", bool(said.settled))


@scenario("1-0/2.6.4.updated", role=CLIENT)
@broken_by("ends the session for it", of_client(answers(Attach, End(OURS), when=is_changed)), CLIENT)
def a_client_bears_that_its_server_updates_a_link(client: Client) -> None:
    """The server detaches a link and attaches it again in a single write: the session goes on.

    Whether the client takes the link as it is then, or refuses it, is its own affair; whether it answers the
    detach is judged by 1-0/2.6.4.detach-answered.
    """
    is_answered(client)
    name = client.name("link")
    deaf = ignores(Attach, when=lambda it: it.name == name, skip=1) + ignores(Detach, skip=1) + ignores(Flow)
    session = client.session(deaf)
    link = session.receiver(client.name("node"), name=name)
    changed = link.server_attach.replace(handle=HANDLE, snd_settle_mode=SETTLED)
    link.server_detaches(closed=False)
    session.says(changed)
    goes_on(session)


@scenario("1-0/2.6.3.sender-holds-source", role=CLIENT)
@broken_by("says what the server says", forwards(Attach, skip=1, source=Source("another")), CLIENT)
def the_source_of_a_client_that_sends_is_its_own(client: Client) -> None:
    """The server says another source than the client that sends: attached again, the client says its own."""
    session = client.session(rewrites(Attach, source=Source("another")))
    address, name = client.name("node"), client.name("link")
    link = session.tries_sender(address, name=name)
    if not isinstance(link, JudgedSender):
        raise Inapplicable("the client does not go on where the server says another source")
    link.hands_over()
    if not isinstance(link.expect(Transfer, answered(Detach).recorded()), Transfer):
        raise Inapplicable("the client detaches where the server says another source")
    link.detach()
    before = len(session.sent(Attach))
    session.tries_sender(address, name=name)
    said = [each.source for each in session.sent(Attach)[before:]]
    client.judge("the source of before", "another source", said == [link.attach.source])


@scenario("1-0/2.7.3.reattached-without-map", role=CLIENT)
@broken_by("has an empty map", forwards(Attach, skip=1, unsettled={}), CLIENT)
@broken_by("has a map", forwards(Attach, skip=1, unsettled={NOBODYS: None}), CLIENT)
def a_link_that_a_client_reattaches_has_no_map(client: Client) -> None:
    """A link that the client has detached and the server closed is attached again to close it: without a map.

    There is something unsettled on it, so that there could be one.
    """
    sender = client.session(SILENT, rewrites(Detach, closed=True)).sender()
    sender.hands_over()
    sender.connection.came(Transfer)
    sender.detaches()
    hears(sender.session)
    again = [each for each in sender.session.sent(Attach) if each.name == sender.attach.name][1:]
    if not again:
        raise Inapplicable("the client reattaches no link, as 1-0/2.6.6.closed-by-reattaching asks")
    client.judge("no unsettled map", "an unsettled map", again[0].unsettled is None)


# -- deliveries of links that are not attached ---------------------------------------------------------


def accepts(sender: JudgedSender, number: int) -> bool:
    """Have our server accept a delivery of the client's, and not settle it; say whether the client does."""
    sender.session.says(Disposition(Role.RECEIVER, number, number, False, Accepted()))
    hears(sender.session)
    said = sender.session.sent(Disposition)
    return any(each.role is Role.SENDER and each.settled and covers(each, number) for each in said)


@scenario("1-0/2.7.6.live-behind-a-detach", role=CLIENT)
@broken_by("has forgotten it", ignores(Disposition, skip=1), CLIENT)
def a_delivery_of_a_client_outlives_the_attachment_of_its_link(client: Client) -> None:
    """A delivery of a link that the client has detached, and not closed, is accepted: the client settles it.

    Whether it does so where the link is attached is seen first.
    """
    sender = client.session(SILENT).sender()
    for _ in range(2):
        sender.hands_over()
        sender.connection.came(Transfer)
    first, second = (each.id for each in sender.deliveries())
    if not accepts(sender, first):
        raise Inapplicable(SETTLES_NONE)
    sender.detach()
    if any(each.closed for each in sender.sent(Detach)):
        raise Inapplicable("the client closes the link")
    client.judge("the delivery is settled", "the delivery is not settled", accepts(sender, second))


@scenario("1-0/2.6.12.exactly-once", role=CLIENT)
@broken_by("sends it again", of_client(follows(Attach, Transfer(0, 9, b"t", 0), skip=1)), CLIENT)
def what_a_client_settles_behind_an_outcome_goes_once(client: Client) -> None:
    """A delivery is accepted, then settled by the client: it does not come again when the link does."""
    session, address, name = client.session(SILENT), client.name("node"), client.name("link")
    sender = session.sender(address, name=name)
    sender.hands_over()
    session.connection.came(Transfer)
    if not accepts(sender, sender.deliveries()[0].id):
        raise Inapplicable(SETTLES_NONE)
    sender.close()
    again = session.sender(address, name=name)
    again.connection.sends_no(Transfer)
    came = len(again.transfers())
    client.judge("the message does not come again", "the message comes again", not came)
