"""2.6.7 to 2.6.10 and 2.7.4, of clients: credit, drain, and what flows tell."""

from dataclasses import replace
from typing import Any

from harness.amqp1_0.broken.deviations import (
    follows,
    forwards,
    ignores,
    of_client,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.provocations import delays
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import fields
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.server.link import Link
from harness.amqp1_0.server.session import JudgedLink, JudgedSender
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    End,
    Error,
    Flow,
    LinkError,
    Transfer,
)
from harness.amqp1_0.wire.serial import SIZE
from harness.play.expect import Inapplicable
from harness.wire.journal import Direction
from scenarios.amqp1_0.links.s2_6_7_flow_control import of_a_link
from scenarios.amqp1_0.talk import CLIENT, arrives, comes, hears, stated
from scenarios.registry import broken_by, scenario

MUCH = rewrites(Flow, when=of_a_link, link_credit=100)
"""Takes any credit for a large one."""
LATER = withholds(Flow, when=of_a_link, skip=1)
"""Never goes on."""
LATE = 0.2
"""Seconds that our server takes for its attach."""


def with_credit(client: Client, credit: int, count: int, **more: Any) -> JudgedSender:
    """Give a link of the client's with so much credit, and so many messages handed over."""
    sender = client.session(rewrites(Flow, when=of_a_link, link_credit=credit, **more)).sender()
    if count:
        sender.hands_over(count=count)
    return sender


# -- of a client that sends ----------------------------------------------------------------------------


@scenario("1-0/2.6.7.limit-is-the-receivers", role=CLIENT)
@broken_by("takes any credit for a large one", MUCH, CLIENT)
@broken_by("counts from where it is", rewrites(Flow, when=of_a_link, skip=1, delivery_count=4), CLIENT)
@broken_by("never goes on", LATER, CLIENT)
def a_client_counts_credit_from_what_the_receiver_knows(client: Client) -> None:
    """Behind four messages a flow that knows two of them and gives credit for three has room for one."""
    sender = with_credit(client, 4, 6)
    comes(sender, 4)
    sender.server_flows(delivery_count=sender.server.delivery_count + -2, link_credit=3)
    comes(sender, 1)


@scenario("1-0/2.6.7.unknown-count-is-the-first", role=CLIENT)
@broken_by("looks at no flow without a count", withholds(Flow, when=of_a_link), CLIENT)
@broken_by("takes any credit for a large one", MUCH, CLIENT)
def a_client_counts_credit_from_its_first_count(client: Client) -> None:
    """With a flow without delivery-count as many go as it gives credit for."""
    comes(with_credit(client, 2, 3, delivery_count=None), 2)


@scenario("1-0/2.6.7.no-credit-no-transfer", role=CLIENT)
@broken_by("takes none for much", MUCH, CLIENT)
@broken_by("never goes on", LATER, CLIENT)
def a_client_sends_nothing_without_credit(client: Client) -> None:
    """A message waits until there is credit for it."""
    sender = with_credit(client, 0, 1)
    sender.connection.sends_no(Transfer)
    sender.server_flows(link_credit=1)
    sender.expect(Transfer)


@scenario("1-0/2.6.7.credit-is-no-sum", role=CLIENT)
@broken_by("adds it up", rewrites(Flow, when=of_a_link, skip=3, link_credit=6), CLIENT)
@broken_by("takes none", LATER, CLIENT)
def the_same_credit_again_is_the_same_to_a_client(client: Client) -> None:
    """Of four messages two go with credit for two that is given three times."""
    sender = with_credit(client, 0, 4)
    count = sender.server.delivery_count
    for _ in range(3):
        sender.server_flows(delivery_count=count, link_credit=2)
    comes(sender, 2)


@scenario("1-0/2.6.9.topped-up", role=CLIENT)
@broken_by("adds it to what is left", rewrites(Flow, when=of_a_link, link_credit=lambda it: it + 1), CLIENT)
@broken_by("takes the first alone", LATER, CLIENT)
def a_client_bears_that_credit_is_brought_back_to_its_target(client: Client) -> None:
    """Credit for two, and for two again behind each of four messages: six of seven come."""
    sender = with_credit(client, 2, 7)
    begin = sender.attach.initial_delivery_count or 0
    for count in range(1, 5):
        sender.expect(Transfer)
        sender.server_flows(delivery_count=begin + count, link_credit=2)
    comes(sender, 2)


@scenario("1-0/2.6.7.drained", role=CLIENT)
@broken_by("keeps the credit", rewrites(Flow, drain=None), CLIENT)
@broken_by("does not say so", ignores(Flow), CLIENT)
@broken_by("forgets its count", forwards(Flow, delivery_count=0), CLIENT)
def a_client_uses_up_credit_for_which_it_has_no_messages(client: Client) -> None:
    """With nothing to send a client that is to drain uses up credit for five and says so."""
    sender = with_credit(client, 0, 0)
    end = sender.server.delivery_count + 5
    sender.server_flows(link_credit=5, drain=True)
    sender.expect(fields(Flow, handle=sender.handle, link_credit=0, delivery_count=end))


@scenario("1-0/2.6.7.drained-behind-messages", role=CLIENT)
@broken_by("keeps the credit", rewrites(Flow, drain=None), CLIENT)
@broken_by("sends nothing", ignores(Transfer), CLIENT)
def a_client_sends_what_it_has_before_it_uses_up_credit(client: Client) -> None:
    """Of credit for five with drain a message that waits takes one, and a flow says that the rest is used up.

    It is one, because there are libraries that take a second message when the first is sent.
    """
    sender = with_credit(client, 0, 1)
    sender.connection.sends_no(Transfer)
    end = sender.server.delivery_count + 5
    sender.server_flows(link_credit=5, drain=True)
    sender.expect(Transfer)
    sender.expect(fields(Flow, handle=sender.handle, link_credit=0, delivery_count=end))


@scenario("1-0/2.7.4.drain-mode-told", role=CLIENT)
@broken_by("does not say it", forwards(Flow, drain=False), CLIENT)
def a_flow_of_a_draining_client_says_so(client: Client) -> None:
    """The flow that answers a drain says drain."""
    sender = with_credit(client, 0, 0)
    sender.server_flows(link_credit=1, drain=True)
    sender.expect(fields(Flow, handle=sender.handle, drain=True))


@scenario("1-0/2.6.10.stopped", role=CLIENT)
@broken_by("goes on", LATER, CLIENT)
def a_client_stops_without_credit(client: Client) -> None:
    """Behind a flow that takes the credit back the client sends no message."""
    sender = with_credit(client, 10, 0)
    sender.server_flows(link_credit=0)
    hears(sender.session)
    sender.hands_over()
    sender.connection.sends_no(Transfer)


def told(link: JudgedLink, **asked: Any) -> Flow:
    """Ask for the state of a link by echo, and give the flow that answers. Raises Inapplicable."""
    before = len(link.sent(Flow))
    link.server_flows(echo=True, **asked)
    hears(link.session)
    flows = link.sent(Flow)[before:]
    if not flows:
        raise Inapplicable("the client does not answer an echo")
    answer: Flow = flows[-1]
    return answer


@scenario("1-0/2.6.10.quiesced", role=CLIENT)
@broken_by("says that some is left", forwards(Flow, link_credit=1), CLIENT)
def behind_the_echo_a_stopped_client_is_quiet(client: Client) -> None:
    """A flow without credit, with echo: the answer has none, and no message goes behind it."""
    sender = with_credit(client, 10, 0)
    credit = told(sender, link_credit=0).link_credit
    client.judge("no credit left", f"credit for {credit}", credit == 0)
    sender.hands_over()
    sender.connection.sends_no(Transfer)


@scenario("1-0/2.6.7.count-is-the-senders", role=CLIENT)
@broken_by("takes over the server's", forwards(Flow, delivery_count=lambda count: (count - 1) % SIZE), CLIENT)
def a_server_cannot_change_the_delivery_count_of_a_client(client: Client) -> None:
    """A flow that knows one message less does not change the delivery-count that the client tells."""
    sender = client.session().sender()
    sender.send(count=2)
    count = sender.server.delivery_count
    said = told(sender, delivery_count=count + -1, link_credit=3).delivery_count
    client.judge(f"delivery-count {count}", f"delivery-count {said}", said == count)


@scenario("1-0/2.6.7.credit-matches-the-limit", role=CLIENT)
@broken_by("says what it was given", forwards(Flow, link_credit=3), CLIENT)
def the_credit_that_a_client_tells_matches_the_limit(client: Client) -> None:
    """Behind two messages, a flow that knows one of them and gives credit for three leaves credit for two."""
    sender = client.session().sender()
    sender.send(count=2)
    asked = sender.server.delivery_count + -1
    credit = told(sender, delivery_count=asked, link_credit=3).link_credit
    client.judge("credit for 2", f"credit for {credit}", credit == 2)


# -- echoes --------------------------------------------------------------------------------------------


def _answered(client: Client, link: JudgedLink) -> None:
    """Judge that flows with echo are answered by flows without."""
    before = len(link.sent(Flow))
    link.server_flows(echo=True)
    hears(link.session)
    flows = link.sent(Flow)[before:]
    right = bool(flows) and not any(each.echo for each in flows)
    client.judge("a flow without echo", "an echo" if flows else "no flow", right)


@scenario("1-0/2.7.4.echo-answered", role=CLIENT)
@broken_by("does not answer", ignores(Flow), CLIENT)
@broken_by("asks in turn", forwards(Flow, echo=True), CLIENT)
def a_client_answers_an_echo_of_a_link(client: Client) -> None:
    """Flows with echo of a link to the server, and of one to the client, are answered."""
    session = client.session()
    _answered(client, session.sender())
    _answered(client, session.receiver(credit=1))


@scenario("1-0/2.7.4.echoes-answered", role=CLIENT)
@broken_by("answers none", ignores(Flow, skip=1), CLIENT)
def a_client_answers_several_echoes(client: Client) -> None:
    """Behind an answered echo three more: one flow comes, or more."""
    sender = client.session().sender()
    told(sender)
    before = len(sender.sent(Flow))
    for _ in range(3):
        sender.server_flows(echo=True)
    hears(sender.session)
    client.judge("a flow", "no flow", len(sender.sent(Flow)) > before)


@scenario("1-0/2.7.4.session-echo-answered", role=CLIENT)
@broken_by("does not answer", ignores(Flow), CLIENT)
def a_client_answers_an_echo_of_a_session(client: Client) -> None:
    """A flow with echo of a session is answered by a flow."""
    session = client.session()
    before = len(session.sent(Flow))
    session.server_flows(echo=True)
    hears(session)
    client.judge("a flow", "no flow", len(session.sent(Flow)) > before)


# -- of a client that receives -------------------------------------------------------------------------


@scenario("1-0/2.6.7.excess-taken-or-refused", role=CLIENT)
@broken_by("loses them", withholds(Transfer, skip=1), CLIENT)
@broken_by("says nothing", ignores(Detach), CLIENT)
@broken_by("has another condition", forwards(Detach, error=Error(AmqpError.NOT_ALLOWED)), CLIENT)
@broken_by("ends the session", of_client(replaces(Detach, End(Error(LinkError.DETACH_FORCED)))), CLIENT)
def a_client_takes_or_refuses_what_exceeds_its_credit(client: Client) -> None:
    """One message more than there is credit for: both arrive, or the link is detached for that."""
    session = client.session()
    receiver = session.receiver(credit=1)
    for number in range(2):
        receiver.server_transfers(message(b"%d" % number))
    hears(session)
    refusals = session.sent(Detach, End)
    if not refusals:
        arrives(receiver, "0", "1")
        return
    conditions = {each.error.condition for each in refusals if each.error is not None}
    ends = any(isinstance(each, End) for each in refusals)
    holds = not ends and conditions == {LinkError.TRANSFER_LIMIT_EXCEEDED}
    says = f"{'end' if ends else 'detach'} {' '.join(sorted(conditions)) or 'without error'}"
    client.judge(f"detach {LinkError.TRANSFER_LIMIT_EXCEEDED}", says, holds)


@scenario("1-0/2.6.7.delivery-count-arbitrary", role=CLIENT)
@broken_by("loses what comes behind the wrap", withholds(Transfer, skip=2), CLIENT)
@broken_by("counts on", forwards(Flow, delivery_count=lambda it: SIZE - 1 if it == 2 else it), CLIENT)
def a_client_counts_deliveries_over_the_wrap(client: Client) -> None:
    """A server that begins with 2^32-2 sends four messages: all arrive, and the client counts to 2."""
    session = client.session(policy=replace(LENIENT, initial_delivery_count=SIZE - 2))
    receiver = session.receiver(credit=4)
    receiver.server_sends(*(message(b"%d" % number) for number in range(4)))
    arrives(receiver, "0", "1", "2", "3")
    count = stated(receiver).delivery_count
    client.judge("delivery-count 2", f"delivery-count {count}", count == 2)


@scenario("1-0/2.6.7.available-zero", role=CLIENT)
@broken_by("takes it for the end", withholds(Transfer), CLIENT)
def a_client_takes_what_was_not_available(client: Client) -> None:
    """Messages arrive that are sent behind a flow which says that nothing is available."""
    receiver = client.session().receiver(credit=3)
    receiver.server_flows(available=0)
    receiver.server_sends(message(b"1"), message(b"2"), message(b"3"))
    arrives(receiver, "1", "2", "3")
    stated(receiver)


@scenario("1-0/2.6.8.nothing-behind-a-drain", role=CLIENT)
@broken_by("has the credit still", forwards(Flow, skip=2, link_credit=4), CLIENT)
def a_client_has_no_credit_behind_a_drain(client: Client) -> None:
    """Credit for three is drained: credit for one more is credit for one, and one of two messages comes."""
    receiver = client.session().receiver(credit=3)
    receiver.drain()
    hears(receiver.session)
    said = any(each.drain for each in receiver.sent(Flow))
    client.judge("a flow that drains", "no flow that drains", said)
    credit = stated(receiver).link_credit
    client.judge("credit for one", f"credit for {credit}", credit == 1)
    receiver.server_sends(message(b"late"))
    arrives(receiver, "late")


@scenario("1-0/2.7.4.no-count-before-the-attach", role=CLIENT)
@broken_by("says a count", of_client(follows(Attach, Flow(0, 9, 0, 9, 0, 0, 1))), CLIENT)
def a_client_says_no_delivery_count_before_the_senders_attach(client: Client) -> None:
    """The server's attach comes late: a flow that a receiver sends before it has no delivery-count."""
    session = client.session(delays(Attach, LATE))
    session.tries_receiver(credit=1)
    early = _before_the_attach(session.connection.link)
    if not early:
        raise Inapplicable("the client says no flow before the server's attach")
    counted = [each for each in early if each.carried("delivery_count") is not None]
    client.judge("flows without delivery-count", "a flow with a delivery-count", not counted)


def _before_the_attach(link: Link) -> list[Flow]:
    """Give the flows of links that the client has sent before our server's attach went out."""
    early = []
    for passage in link.transcript:
        said = performative_of(passage.unit)
        if isinstance(said, Attach) and passage.direction is Direction.SENT:
            break
        if isinstance(said, Flow) and said.handle is not None:
            early.append(said)
    return early
