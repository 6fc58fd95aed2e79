"""2.6.5 Link Errors and 2.8.18, of clients: links that they detach with an error, and redirects."""

from harness.amqp1_0.broken.deviations import (
    answers,
    forwards,
    ignores,
    of_client,
    precedes,
    replaces,
    withholds,
)
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import fields
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedReceiver, JudgedSession
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Close,
    Detach,
    End,
    Error,
    Flow,
    LinkError,
    Open,
    Role,
    SaslInit,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.play.expect import Inapplicable
from harness.shims.contract import Refused
from scenarios.amqp1_0.talk import CLIENT, arrives, goes_on, hears, names_elsewhere
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
CROSSES = "an attach in answer: by 2.6.6 the server attaches again what it has to close"


def in_error(client: Client, *behind: Flow | Transfer) -> JudgedReceiver:
    """Give a link that the client detaches because of an error; our server says something for it then.

    Raises Inapplicable where it bears what exceeds its credit.
    """
    meets = (precedes(Detach, *behind),) if behind else ()
    session = client.session(*meets)
    receiver = session.receiver(credit=1)
    for _ in range(2):
        receiver.server_transfers(message(b"x"))
    hears(session)
    said = [each for each in session.sent(Detach) if each.error is not None]
    if not said:
        raise Inapplicable("the client detaches no link for what exceeds its credit")
    return receiver


@scenario("1-0/2.6.5.error-supplied", role=CLIENT)
@broken_by("gives no reason", forwards(Detach, error=None), CLIENT)
def a_client_says_why_it_detaches(client: Client) -> None:
    """What ends a link because of an error has one; that the session goes on is seen, too."""
    session = client.session()
    receiver = session.receiver(credit=1)
    for _ in range(2):
        receiver.server_transfers(message(b"x"))
    hears(session)
    said = receiver.sent(Detach)
    if not said:
        raise Inapplicable("the client detaches no link for what exceeds its credit")
    client.judge("a detach with an error", "a detach without error", said[0].error is not None)
    goes_on(session)


@scenario("1-0/2.6.5.endpoint-destroyed", role=CLIENT)
@broken_by("has it still", withholds(Attach, skip=2), CLIENT)
def behind_an_error_a_client_has_nothing_of_the_endpoint(client: Client) -> None:
    """Behind a detach with an error, and the server's, another link is attached and gets a message."""
    receiver = in_error(client)
    link = receiver.session.tries_receiver(credit=1)
    client.judge("a link", getattr(link, "told", ""), not isinstance(link, Refused))
    assert isinstance(link, JudgedReceiver)
    link.server_sends(message(b"x"))
    arrives(link, "x")


def ends_as_errant(session: JudgedSession) -> None:
    """Judge that the client has ended the session with errant-link."""
    ends = session.sent(End)
    conditions = [str(each.error.condition) for each in ends if each.error is not None]
    told = " ".join(conditions) or ("end without error" if ends else "no end")
    session.client.judge(f"end {SessionError.ERRANT_LINK}", told, conditions == [SessionError.ERRANT_LINK])


@scenario("1-0/2.6.5.errant-link", role=CLIENT)
@broken_by("passes over it", ignores(End), CLIENT)
@broken_by("has another condition", forwards(End, error=Error(SessionError.UNATTACHED_HANDLE)), CLIENT)
def a_client_ends_a_session_for_input_of_a_link_in_error(client: Client) -> None:
    """Behind its detach with an error a flow of that link is answered by an end with errant-link."""
    receiver = in_error(client, Flow(0, 9, 4, 9, 0, 0, 0))
    hears(receiver.session)
    ends_as_errant(receiver.session)


@scenario("1-0/2.6.5.pipelined-attach", role=CLIENT)
@broken_by("passes over it", ignores(End), CLIENT)
@broken_by("has another condition", forwards(End, error=Error(SessionError.HANDLE_IN_USE)), CLIENT)
@broken_by("closes the connection", of_client(replaces(End, Close(OURS))), CLIENT)
def an_attach_pipelined_behind_the_error_of_a_client_ends_the_session(client: Client) -> None:
    """A detach and an attach without a map, said for a link in error, end the session with errant-link."""
    name, address = client.name("link"), client.name("node")
    again = Attach(name, 0, Role.SENDER, source=Source(address), target=Target(), initial_delivery_count=0)
    session = client.session(replaces(Detach, Detach(0), again))
    receiver = session.receiver(address, credit=1, name=name)
    for _ in range(2):
        receiver.server_transfers(message(b"x"))
    hears(session)
    said = [each for each in session.sent(Detach) if each.error is not None]
    if not said:
        raise Inapplicable("the client detaches no link for what exceeds its credit")
    if said[0].closed and [each.name for each in session.sent(Attach)].count(name) > 1:
        client.judge(CROSSES, "", True)
    else:
        ends_as_errant(session)


@scenario("1-0/2.6.5.detach-behind-an-error", role=CLIENT)
@broken_by("answers it once more", of_client(answers(Detach, Detach(0, True))), CLIENT)
@broken_by("takes it for input", of_client(answers(Detach, End(OURS))), CLIENT)
def a_client_takes_the_detach_behind_its_error(client: Client) -> None:
    """The server's detach behind the client's, which has an error, is not answered; the session goes on."""
    receiver = in_error(client)
    goes_on(receiver.session)
    said = receiver.sent(Detach)
    client.judge("one detach", f"{len(said)} detaches", len(said) == 1)


@scenario("1-0/2.6.5.resumed-not-reattached", role=CLIENT)
@broken_by("reattaches", forwards(Attach, unsettled=None), CLIENT)
def a_client_resumes_what_was_detached_for_an_error(client: Client) -> None:
    """A link that is detached with an error, and not closed, is attached again with an unsettled map."""
    session, name = client.session(), client.name("link")
    sender = session.sender("x", name=name)
    sender.server_detaches(LinkError.DETACH_FORCED, closed=False)
    hears(session)
    answers = sender.sent(Detach)
    if not answers:
        raise Inapplicable("the client answers no detach, which other rules ask for: it has its link still")
    if answers[0].closed:
        raise Inapplicable("the client closes the link: what it attaches then is another")
    before = len(session.sent(Attach))
    client.attempted("attach", on=session.on, role="sender", address="x", name=name)
    again = session.sent(Attach)[before:]
    if not again:
        raise Inapplicable("the client does not attach such a link again")
    client.judge("an attach that resumes", "an attach without unsettled", again[0].unsettled is not None)


# -- redirects -----------------------------------------------------------------------------------------


@scenario("1-0/2.8.18.link-redirect-followed", role=CLIENT)
@broken_by("is not told", withholds(Detach), CLIENT)
def a_client_takes_a_redirect_of_a_link(client: Client) -> None:
    """A link is detached with a redirect: the client goes there, or tells its application the condition."""
    elsewhere = client.server()
    host, port = elsewhere.place
    info = {"hostname": "elsewhere", "network-host": host, "port": port, "address": "x"}
    session = client.session()
    sender = session.sender()
    sender.session.says(Detach(sender.server_handle, True, Error(LinkError.REDIRECT, "go there", info)))
    sender.expect(fields(Detach, closed=True))
    if not client.came_to(elsewhere):
        session.connection.tells_end("link", LinkError.REDIRECT)


@scenario("1-0/2.8.18.link-redirect-hostname", role=CLIENT)
@broken_by("forgets the name", forwards(Open, hostname="forgotten"), CLIENT)
@broken_by("does not tell SASL", forwards(SaslInit, hostname=None), CLIENT)
def a_client_whose_link_is_redirected_names_the_host(client: Client) -> None:
    """Behind a redirect of a link, the client or its application goes there and names the host."""
    elsewhere = client.server()
    host, port = elsewhere.place
    info = {"hostname": "elsewhere", "network-host": host, "port": port, "address": "x"}
    sender = client.session().sender()
    sender.session.says(Detach(sender.server_handle, True, Error(LinkError.REDIRECT, "go there", info)))
    client.fails(lambda: sender.connection.came(Detach))  # that it answers is asked elsewhere
    names_elsewhere(client, elsewhere)
