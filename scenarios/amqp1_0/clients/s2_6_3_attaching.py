"""2.6.1 to 2.6.6, 2.7.2 and 2.7.3, of clients: attaching links, refusing them, detaching them."""

from typing import Any

from harness.amqp1_0.broken.deviations import (
    answers,
    ends_stream,
    follows,
    forwards,
    ignores,
    of_client,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import (
    answered,
    closed,
    detached,
    ended_or_closed,
    fields,
    session_ended,
)
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedLink, JudgedReceiver, JudgedSession
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    ConnectionError_,
    Detach,
    End,
    Error,
    Flow,
    Role,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import Symbol
from harness.play.expect import ControlFailed, Inapplicable
from harness.shims.contract import Refused
from scenarios.amqp1_0.performatives.s2_7_1_open import UNHEARD_OF
from scenarios.amqp1_0.talk import CLIENT, arrives, goes_on, hears
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
LONG = 300
"""Characters of a long name."""
HIGH = 7
"""A handle that nobody takes who takes the lowest."""


# -- names and handles ---------------------------------------------------------------------------------


@scenario("1-0/2.5.link-on-one-session", role=CLIENT)
@broken_by("has one name for all", forwards(Attach, name="link") + withholds(Attach), CLIENT)
def a_client_attaches_no_link_on_two_sessions(client: Client) -> None:
    """Receivers on two sessions of a connection, named by the client itself, have two names."""
    connection = client.connection()
    for session in (connection.session(), connection.session()):
        client.attempted("attach", on=session.on, role="receiver", address=client.name("node"))
    names = {each.name for each in connection.sent(Attach)}
    client.judge("two names", "one name", len(names) == 2)


@scenario("1-0/2.5.links-of-either-direction", role=CLIENT)
@broken_by("gets nothing", withholds(Transfer), CLIENT)
@broken_by("sends nothing", ignores(Transfer), CLIENT)
def links_of_both_directions_share_a_session_of_a_client(client: Client) -> None:
    """On one session the client sends a message and receives it."""
    session, address = client.session(), client.name("node")
    receiver, sender = session.receiver(address, credit=1), session.sender(address)
    sender.hands_over("x")
    sender.expect(Transfer)
    arrives(receiver, "x")


@scenario("1-0/2.6.1.name-per-direction", role=CLIENT)
@broken_by("has one link of a name", withholds(Attach, skip=1), CLIENT)
def a_name_serves_both_directions_for_a_client(client: Client) -> None:
    """A sender with the name of a receiver is attached, and each carries a message."""
    session, address = client.session(), client.name("node")
    receiver = session.receiver(address, credit=1, name="both")
    sender = session.tries_sender(address, name="both")
    client.judge("a link", getattr(sender, "told", ""), not isinstance(sender, Refused))
    goes_on(session)
    receiver.server_sends(message(b"x"))
    arrives(receiver, "x")


@scenario("1-0/2.6.1.long-name", role=CLIENT)
@broken_by("cuts it", forwards(Attach, name=lambda name: name[:255]) + withholds(Attach), CLIENT)
def a_client_attaches_under_a_long_name(client: Client) -> None:
    """A receiver that is to have a name of 300 characters is attached under it."""
    session = client.session()
    name = "long".ljust(LONG, "x")
    client.attempted("attach", on=session.on, role="receiver", address="x", name=name)
    said = session.sent(Attach)
    if not said:
        raise ControlFailed("attach", "no attach")
    client.judge("an attach of that name", "an attach of another name", said[0].name == name)


HIGHER = (
    rewrites(Attach, handle=HIGH)
    + rewrites(Flow, when=lambda it: it.handle is not None, handle=HIGH)
    + rewrites(Transfer, handle=HIGH)
    + rewrites(Detach, handle=HIGH)
)
"""Our server has handle 7 for its link."""


@scenario("1-0/2.6.2.handles-differ", role=CLIENT)
@broken_by("takes the server's", forwards(Transfer, handle=HIGH), CLIENT)
@broken_by("finds no link there", withholds(Flow, when=lambda it: it.handle == HIGH), CLIENT)
def a_client_has_handles_of_its_own(client: Client) -> None:
    """To a server with handle 7 for its end the client sends on its own handle, and closes on it."""
    sender = client.session(HIGHER).sender()
    sender.hands_over()
    sender.expect(fields(Transfer, handle=sender.handle))
    sender.closes()
    sender.expect(fields(Detach, handle=sender.handle))


@scenario("1-0/2.7.3.lowest-handle", role=CLIENT)
@broken_by("takes a higher", forwards(Attach, handle=lambda handle: handle + 2), CLIENT)
def a_client_takes_the_lowest_free_handle(client: Client) -> None:
    """Three links have handles 0, 1 and 2; behind the close of the second, another has 1."""
    session = client.session()
    before = len(session.sent(Attach))
    for _ in range(3):
        client.attempted("attach", on=session.on, role="sender", address=client.name("node"))
    taken = [each.handle for each in session.sent(Attach)[before:]]
    client.judge(
        "handles 0, 1 and 2",
        f"handles {', '.join(map(str, taken))}",
        taken == [0, 1, 2],
        "any handle that is free is legal; the lowest is recommended",
    )


@scenario("1-0/2.7.2.handle-max-kept", role=CLIENT)
@broken_by("takes the next handle", rewrites(Begin, handle_max=9), CLIENT)
@broken_by("begins with handle 1", forwards(Attach, handle=1), CLIENT)
def a_client_uses_no_handle_above_the_servers_handle_max(client: Client) -> None:
    """With a handle-max of 0 one link is attached on handle 0, and no second one."""
    session = client.session(rewrites(Begin, handle_max=0))
    for _ in range(2):
        client.attempted("attach", on=session.on, role="sender", address=client.name("node"))
    handles = [int(each.handle) for each in session.sent(Attach)]
    client.judge("handle 0", f"handles {handles}", handles == [0])


@scenario("1-0/2.7.2.highest-handle-usable", role=CLIENT)
@broken_by("refuses its own handle-max", of_client(answers(Attach, Close(OURS))), CLIENT)
def the_highest_handle_of_a_client_can_be_used(client: Client) -> None:
    """A server that has the client's handle-max for its end is taken as one with handle 0."""
    highest = _handle_max(client.session())
    sender = client.session(rewrites(Attach, handle=highest), withholds(Flow)).tries_sender()
    client.judge("a link", getattr(sender, "told", ""), not isinstance(sender, Refused))


def _handle_max(session: JudgedSession) -> int:
    return int(session.received()[0].performative.handle_max)


@scenario("1-0/2.7.2.handle-beyond-max-refused", role=CLIENT)
@broken_by("passes over it", withholds(Attach), CLIENT)
@broken_by("has another condition", forwards(Close, error=OURS), CLIENT)
@broken_by("ends the session alone", of_client(replaces(Close, End(OURS))), CLIENT)
def a_handle_above_a_clients_handle_max_closes(client: Client) -> None:
    """An attach on the handle one above the handle-max of the client's begin is a framing-error."""
    session = client.session()
    highest = _handle_max(session)
    if highest >= (1 << 32) - 1:
        raise Inapplicable("the client's begin states no handle-max: every handle is within its range")
    session.says(Attach("high", highest + 1, Role.SENDER, initial_delivery_count=0))
    session.expect(closed(ConnectionError_.FRAMING_ERROR))


@scenario("1-0/2.7.3.handle-in-use", role=CLIENT)
@broken_by("says nothing", ignores(End), CLIENT)
@broken_by("has another condition", forwards(End, error=OURS), CLIENT)
def a_client_refuses_an_attach_on_a_handle_in_use(client: Client) -> None:
    """A second attach of the server's on one handle is refused with handle-in-use."""
    session = client.session()
    sender = session.sender()
    session.says(Attach("other", sender.server_handle, Role.SENDER, initial_delivery_count=0))
    session.expect(session_ended(SessionError.HANDLE_IN_USE) | closed(SessionError.HANDLE_IN_USE))


# -- links that the server attaches --------------------------------------------------------------------


def offered(client: Client, role: bool) -> tuple[JudgedSession, Attach]:
    """Have our server attach a link of its own; give its attach."""
    session = client.session(ignores(Attach))
    count = 0 if role is Role.SENDER else None
    said = Attach("offered", 3, role, source=Source("x"), target=Target("y"), initial_delivery_count=count)
    session.says(said)
    return session, said


OTHERS = (detached() | ended_or_closed()).under("it is refused, without the attach that says what is missing")


@scenario("1-0/2.6.3.attach-answered", role=CLIENT)
@broken_by("does not answer", ignores(Attach) + ignores(Detach), CLIENT)
@broken_by("gives it a name of its own", forwards(Attach, name="mine"), CLIENT)
@broken_by("takes the same role", forwards(Attach, role=lambda role: not role), CLIENT)
def a_client_answers_an_attach_by_its_counterpart(client: Client) -> None:
    """A receiver and a sender of the server's are answered by attaches of the same name and other role."""
    for role in (Role.RECEIVER, Role.SENDER):
        session, said = offered(client, role)
        session.expect(fields(Attach, name=said.name, role=not role), OTHERS)


def _refused(client: Client, role: bool, terminus: str) -> None:
    session, _ = offered(client, role)
    seen = session.expect(fields(Attach, **{terminus: None}), OTHERS, answered(Attach).recorded())
    if isinstance(seen, Attach):
        if getattr(seen, terminus) is not None:
            raise Inapplicable("the client takes links that the server attaches")
        session.expect(fields(Detach, closed=True))


@scenario("1-0/2.6.3.refused-source", role=CLIENT)
@broken_by("stays attached", ignores(Detach), CLIENT)
@broken_by("does not close it", forwards(Detach, closed=False), CLIENT)
def a_client_refuses_a_source_by_an_attach_and_a_detach(client: Client) -> None:
    """A receiver of the server's that is not to be: an attach without source, and a closing detach."""
    _refused(client, Role.RECEIVER, "source")


@scenario("1-0/2.6.3.refused-target", role=CLIENT)
@broken_by("stays attached", ignores(Detach), CLIENT)
@broken_by("does not close it", forwards(Detach, closed=False), CLIENT)
def a_client_refuses_a_target_by_an_attach_and_a_detach(client: Client) -> None:
    """A sender of the server's that is not to be: an attach without target, and a closing detach."""
    _refused(client, Role.SENDER, "target")


# -- what the server's attach says ---------------------------------------------------------------------


@scenario("1-0/2.7.3.attach-optional-fields", role=CLIENT)
@broken_by("knows no properties", of_client(answers(Attach, End(OURS))), CLIENT)
def what_nobody_has_heard_of_does_a_clients_link_no_harm(client: Client) -> None:
    """An attach with capabilities and properties that nobody knows attaches a link all the same."""
    unknown = [Symbol(UNHEARD_OF)]
    extra: dict[str, Any] = {"offered_capabilities": unknown, "desired_capabilities": unknown}
    properties = {Symbol(UNHEARD_OF): "x"}
    sender = client.session(rewrites(Attach, properties=properties, **extra)).tries_sender()
    client.judge("a link", getattr(sender, "told", ""), not isinstance(sender, Refused))


@scenario("1-0/2.7.3.no-target-no-messages", role=CLIENT)
@broken_by("sends to nowhere", of_client(follows(Attach, Transfer(0, 9, b"t", 0))), CLIENT)
def a_client_sends_nothing_on_a_link_without_target(client: Client) -> None:
    """A server answers without target, and with credit, before it detaches: no transfer comes."""
    error = Error(AmqpError.NOT_FOUND, "there is no such target")
    refusing = rewrites(Attach, target=None) + follows(Flow, Detach(0, True, error))
    session = client.session(refusing)
    link = session.tries_sender()
    if not isinstance(link, Refused):
        client.attempted("send", on=link.on, body="x", wait=False)
    session.connection.sends_no(Transfer)


def _sends(client: Client, most: int) -> list[int]:
    """Have the client try to send a message of 3,000 octets; give the sizes of those that came whole."""
    sender = client.session(rewrites(Attach, max_message_size=most)).sender()
    client.attempted("send", on=sender.on, body={"fill": 3000}, wait=False)
    hears(sender.session)
    return [len(each.payload) for each in sender.deliveries()]


@scenario("1-0/2.7.3.our-largest-message-kept", role=CLIENT)
@broken_by("sends any", rewrites(Attach, max_message_size=None), CLIENT)
def a_client_sends_no_message_that_is_too_large(client: Client) -> None:
    """Of a message of 3,000 octets nothing whole comes where the server takes 1,000."""
    sizes = _sends(client, 1000)
    client.judge("no message larger than that", f"messages of {sizes} octets", not sizes)


@scenario("1-0/2.7.3.zero-size-is-no-limit", role=CLIENT)
@broken_by("takes zero for a size", rewrites(Attach, max_message_size=1), CLIENT)
def a_client_takes_a_largest_message_of_zero_octets_for_any(client: Client) -> None:
    """A message of 3,000 octets comes where the server states a max-message-size of zero."""
    client.judge("a message", "no message", len(_sends(client, 0)) == 1)


@scenario("1-0/2.6.3.remote-terminus-verified", role=CLIENT)
@broken_by("ends the session for it", of_client(replaces(Detach, End(OURS))), CLIENT)
@broken_by("hangs up for it", of_client(ends_stream(Detach)), CLIENT)
@broken_by("does not detach it", ignores(Detach), CLIENT)
def a_client_goes_on_with_another_terminus_or_detaches(client: Client) -> None:
    """Where the server has attached another address the client detaches, or sends its message there."""
    session = client.session(rewrites(Attach, target=Target("another")))
    link = session.tries_sender("wanted")
    if isinstance(link, Refused):
        session.connection.came(Attach)
    else:
        client.attempted("send", on=link.on, body="x", wait=False)
    session.expect(answered(Detach), answered(Transfer).recorded("the terminus suits the client"))


@scenario("1-0/2.6.3.remote-terminus-verified", role=CLIENT)
@broken_by(
    "does not look at it",
    rewrites(Attach, source=lambda found: found or Source("wanted")) + withholds(Detach),
    CLIENT,
)
def a_client_takes_no_terminus_for_none(client: Client) -> None:
    """Where the server attaches no source and detaches, the application is told that there is no link."""
    gone = Detach(0, True, Error(AmqpError.NOT_FOUND, "there is no such source"))
    session = client.session(rewrites(Attach, source=None), follows(Attach, gone))
    link = session.tries_receiver("wanted", credit=1)
    told = isinstance(link, Refused) or bool(link.tells("closed"))
    if not told and isinstance(link, JudgedReceiver):
        told = client.attempted("credit", on=link.on, credit=1) is not None
    client.judge("the client tells that there is no link", "it goes on as if there were one", told)


# -- detaching, and again ------------------------------------------------------------------------------


@scenario("1-0/2.6.4.reattached", role=CLIENT)
@broken_by("does not take it", withholds(Attach, skip=1), CLIENT)
def a_client_attaches_again_what_it_has_detached(client: Client) -> None:
    """A receiver that was detached and not closed is attached again under its name, and gets a message."""
    session, address = client.session(), client.name("node")
    session.receiver(address, name="again").detach()
    link = session.tries_receiver(address, credit=1, name="again")
    client.judge("a link", getattr(link, "told", ""), not isinstance(link, Refused))
    assert isinstance(link, JudgedReceiver)
    link.server_sends(message(b"x"))
    arrives(link, "x")


@scenario("1-0/2.7.7.handle-free-again", role=CLIENT)
@broken_by("never has it again", withholds(Attach, skip=1), CLIENT)
def a_client_takes_a_handle_again(client: Client) -> None:
    """Three links, one after the other, are attached and closed, each on a handle of the server's again."""
    session = client.session()
    for _ in range(3):
        link = session.tries_sender()
        client.judge("a link", getattr(link, "told", ""), not isinstance(link, Refused))
        assert isinstance(link, JudgedLink)
        refusal = link.closes()
        client.judge("the link is closed", refusal.told if refusal else "", refusal is None)


@scenario("1-0/2.7.7.handle-free-unclosed", role=CLIENT)
@broken_by("never has it again", withholds(Attach, skip=1), CLIENT)
def a_client_takes_a_handle_again_behind_a_detach(client: Client) -> None:
    """Behind a detach that does not close the server's handle serves another link."""
    session = client.session()
    session.sender().detach()
    link = session.tries_sender()
    client.judge("a link", getattr(link, "told", ""), not isinstance(link, Refused))


@scenario("1-0/2.6.6.closed-by-reattaching", role=CLIENT)
@broken_by("leaves it", ignores(Attach, skip=1), CLIENT)
@broken_by("does not close it", ignores(Detach, skip=1), CLIENT)
def a_client_closes_what_it_has_detached_and_the_server_closed(client: Client) -> None:
    """A detach of the client's is answered by one that closes: it attaches the link again, and closes it."""
    sender = client.session(rewrites(Detach, closed=True)).sender()
    sender.detaches()
    sender.expect(Detach)
    again = sender.expect(fields(Attach, role=sender.role))
    client.judge("the link again", "another link", again.name == sender.attach.name)
    sender.expect(fields(Detach, closed=True))
