"""2.6, 2.6.12, 2.7.5 and 2.7.6, of clients: deliveries that they send, and what they are told of them."""

from harness.amqp1_0.broken.deviations import (
    answers,
    forwards,
    ignores,
    of_client,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.outcomes import fields
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedSender, JudgedSession
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Detach,
    Disposition,
    End,
    Error,
    Received,
    Released,
    Role,
    SenderSettleMode,
    Transfer,
)
from harness.amqp1_0.wire.serial import SIZE, Serial
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.performatives.s2_7_6_disposition import FAR
from scenarios.amqp1_0.talk import CLIENT, goes_on
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
SETTLED, UNSETTLED = SenderSettleMode.SETTLED, SenderSettleMode.UNSETTLED
SILENT = withholds(Disposition)
"""Our server says nothing of what it has got, but by words of ours."""
ENDS = of_client(answers(Disposition, End(OURS)))


def sent(client: Client, *links: int, session: JudgedSession | None = None) -> list[JudgedSender]:
    """Have the client send so many messages on each of some links; our server says nothing of them."""
    session = session or client.session(SILENT)
    senders = [session.sender() for _ in links]
    for sender, count in zip(senders, links, strict=True):
        for _ in range(count):
            sender.hands_over()
            session.connection.came(Transfer)
    return senders


def first_id(sender: JudgedSender) -> Serial:
    return sender.deliveries()[0].id


def says(sender: JudgedSender, first: int, last: int | None, settled: bool | None, state: object) -> None:
    """Have our server say something of deliveries of the client."""
    sender.session.says(Disposition(Role.RECEIVER, first, last, settled, state))


def are(sender: JudgedSender, *outcomes: str) -> None:
    """Judge the outcomes that the client tells of what it has sent on a link."""
    told = sender.outcomes(len(outcomes))
    sender.client.judge(
        ", ".join(outcomes), ", ".join(told) or "no outcome", sorted(told) == sorted(outcomes)
    )


# -- what it sends -------------------------------------------------------------------------------------


@scenario("1-0/2.5.deliveries-share-one-sequence", role=CLIENT)
@broken_by("counts by twos", forwards(Transfer, delivery_id=lambda number: number * 2), CLIENT)
@broken_by("gives each delivery the same id", forwards(Transfer, delivery_id=0), CLIENT)
def deliveries_of_a_client_are_numbered_in_one_row(client: Client) -> None:
    """Four messages on two links in turn have four delivery-ids in a row."""
    session = client.session(SILENT)
    links = [session.sender(), session.sender()]
    for link in links * 2:
        link.hands_over()
        session.connection.came(Transfer)
    first = first_id(links[0])
    steps = sorted(each.id - first for link in links for each in link.deliveries())
    client.judge("delivery-ids in a row over both links", f"ids {steps}", steps == [0, 1, 2, 3])


@scenario("1-0/2.6.12.tags-differ", role=CLIENT)
@broken_by("has one tag for all", forwards(Transfer, delivery_tag=b"t"), CLIENT)
def tags_of_a_clients_deliveries_differ(client: Client) -> None:
    """Three deliveries on one link, none of them settled, have three delivery-tags."""
    (sender,) = sent(client, 3)
    tags = {each.first.delivery_tag for each in sender.deliveries()}
    client.judge("three delivery-tags", "one delivery-tag for two deliveries", len(tags) == 3)


def _flags(sender: JudgedSender) -> list[bool]:
    return [any(each.settled for each in one.transfers) for one in sender.deliveries()]


@scenario("1-0/2.7.5.settled-mode-kept", role=CLIENT)
@broken_by("leaves it open", forwards(Transfer, settled=None), CLIENT)
def on_a_settled_link_a_client_settles(client: Client) -> None:
    """A message on a link of settled deliveries is sent settled."""
    sender = client.session().sender(snd="settled")
    if sender.attach.snd_settle_mode != SETTLED:
        raise Inapplicable("the client does not ask for this settlement mode")
    sender.hands_over()
    sender.connection.came(Transfer)
    client.judge("a settled delivery", "an unsettled delivery", _flags(sender) == [True])


@scenario("1-0/2.7.5.unsettled-mode-kept", role=CLIENT)
@broken_by("settles all the same", forwards(Transfer, settled=True), CLIENT)
def on_an_unsettled_link_a_client_does_not_settle(client: Client) -> None:
    """A message on a link of unsettled deliveries is sent unsettled."""
    sender = client.session().sender(snd="unsettled")
    if sender.attach.snd_settle_mode != UNSETTLED:
        raise Inapplicable("the client does not ask for this settlement mode")
    sender.hands_over()
    sender.connection.came(Transfer)
    client.judge("an unsettled delivery", "a settled delivery", _flags(sender) == [False])


@scenario("1-0/2.8.2.mixed", role=CLIENT)
@broken_by("settles all", forwards(Transfer, settled=True), CLIENT)
@broken_by("settles none", forwards(Transfer, settled=None), CLIENT)
def a_client_mixes_settled_and_unsettled_deliveries(client: Client) -> None:
    """Of three messages on a mixed link the second is sent settled, the others are not."""
    sender = client.session().sender(snd="mixed")
    if sender.attach.snd_settle_mode != SenderSettleMode.MIXED:
        raise Inapplicable("the client does not ask for this settlement mode")
    for settled in (False, True, False):
        sender.hands_over(settled=settled)
        sender.connection.came(Transfer)
    flags = _flags(sender)
    client.judge("unsettled, settled, unsettled", f"settled: {flags}", flags == [False, True, False])


@scenario("1-0/2.7.3.sender-mode-respected", role=CLIENT)
@broken_by("sends as it likes", forwards(Transfer, settled=None), CLIENT)
@broken_by("settles none", rewrites(Attach, snd_settle_mode=SenderSettleMode.MIXED), CLIENT)
def a_client_takes_the_mode_that_the_receiver_wants(client: Client) -> None:
    """A server answers that it wants settled deliveries: the client sends them so, or detaches."""
    sender = client.session(rewrites(Attach, snd_settle_mode=SETTLED)).sender()
    sender.hands_over()
    said = sender.expect(Transfer, fields(Detach, handle=sender.handle).recorded("it does not support that"))
    if isinstance(said, Transfer):
        client.judge("a settled delivery", "an unsettled delivery", bool(said.settled))


# -- what it is told -----------------------------------------------------------------------------------


@scenario("1-0/2.6.12.non-terminal-state", role=CLIENT)
@broken_by("ends the session", of_client(answers(Disposition, End(OURS))), CLIENT)
@broken_by("takes it for the last word", rewrites(Disposition, settled=True, state=Released()), CLIENT)
def a_client_takes_a_state_that_is_not_the_last(client: Client) -> None:
    """A delivery is said to be received, and then accepted: it is accepted."""
    (sender,) = sent(client, 1)
    number = first_id(sender)
    says(sender, number, number, None, Received(0, 0))
    says(sender, number, number, True, Accepted())
    are(sender, "accepted")


@scenario("1-0/2.6.12.settles-behind-an-outcome", role=CLIENT)
@broken_by("never settles", ignores(Disposition), CLIENT)
@broken_by("says that it does not", forwards(Disposition, settled=False), CLIENT)
def a_client_settles_what_has_an_outcome(client: Client) -> None:
    """A delivery is accepted and not settled: the client settles it, and says so."""
    (sender,) = sent(client, 1)
    number = first_id(sender)
    says(sender, number, number, False, Accepted())
    sender.expect(fields(Disposition, role=Role.SENDER, settled=True))


@scenario("1-0/2.7.6.settled-unset-is-false", role=CLIENT)
@broken_by("wants to be told", of_client(answers(Disposition, End(OURS))), CLIENT)
def a_client_takes_a_disposition_that_does_not_say_settled(client: Client) -> None:
    """A delivery is accepted by a disposition that leaves settled out, and settled by one behind it."""
    (sender,) = sent(client, 1)
    number = first_id(sender)
    says(sender, number, number, None, Accepted())
    says(sender, number, number, True, Accepted())
    are(sender, "accepted")
    goes_on(sender.session)


@scenario("1-0/2.6.12.settled-without-an-outcome", role=CLIENT)
@broken_by("wants an outcome", ENDS, CLIENT)
def a_client_bears_that_there_is_no_outcome(client: Client) -> None:
    """A delivery is settled by a disposition without a state: the session goes on."""
    (sender,) = sent(client, 1)
    number = first_id(sender)
    says(sender, number, number, True, None)
    goes_on(sender.session)


@scenario("1-0/2.6.settled-for-good", role=CLIENT)
@broken_by("refuses the second", of_client(answers(Disposition, End(OURS), skip=1)), CLIENT)
@broken_by("takes the last word", withholds(Disposition, when=lambda it: it.state == Accepted()), CLIENT)
def what_is_settled_stays_so_for_a_client(client: Client) -> None:
    """A delivery is settled as accepted, and in the same write as released: it is accepted."""
    (sender,) = sent(client, 1)
    number = first_id(sender)
    both = [Disposition(Role.RECEIVER, number, number, True, each) for each in (Accepted(), Released())]
    sender.session.says(*both)
    goes_on(sender.session)
    are(sender, "accepted")


@scenario("1-0/2.7.6.range-settled", role=CLIENT)
@broken_by("settles the first alone", rewrites(Disposition, last=None), CLIENT)
@broken_by("settles none", withholds(Disposition), CLIENT)
def one_disposition_is_about_deliveries_of_two_links_of_a_client(client: Client) -> None:
    """Four deliveries, two on each of two links, are accepted by one disposition."""
    one, other = sent(client, 2, 2)
    number = first_id(one)
    says(one, number, number + 3, True, Accepted())
    are(one, "accepted", "accepted")
    are(other, "accepted", "accepted")


@scenario("1-0/2.7.6.last-unset-is-first", role=CLIENT)
@broken_by("takes it for all behind", rewrites(Disposition, last=9), CLIENT)
@broken_by("takes it for none", withholds(Disposition), CLIENT)
def a_disposition_without_last_is_about_one_delivery_of_a_client(client: Client) -> None:
    """Of two deliveries one is accepted by a disposition without last, and then the other released."""
    (sender,) = sent(client, 2)
    number = first_id(sender)
    says(sender, number, None, True, Accepted())
    says(sender, number + 1, None, True, Released())
    are(sender, "accepted", "released")


@scenario("1-0/2.7.6.range-beyond-deliveries", role=CLIENT)
@broken_by("takes it for none", withholds(Disposition), CLIENT)
def a_disposition_may_reach_beyond_the_deliveries_of_a_client(client: Client) -> None:
    """A delivery is accepted by a disposition that ends 2^31-1 ids further."""
    (sender,) = sent(client, 1)
    number = first_id(sender)
    says(sender, number, number + FAR, True, Accepted())
    are(sender, "accepted")


@scenario("1-0/2.8.10.range-over-the-wrap", role=CLIENT)
@broken_by("compares plain numbers", withholds(Disposition, when=lambda it: it.last < it.first), CLIENT)
def a_disposition_goes_over_the_wrap_for_a_client(client: Client) -> None:
    """Two deliveries are accepted from eight ids before the first on."""
    (sender,) = sent(client, 2)
    number = first_id(sender)
    says(sender, number + (SIZE - 8), number + 1, True, Accepted())
    are(sender, "accepted", "accepted")


@scenario("1-0/2.7.6.role-names-the-direction", role=CLIENT)
@broken_by("looks at the number alone", rewrites(Disposition, role=Role.RECEIVER), CLIENT)
def what_a_server_says_as_a_sender_is_not_about_what_a_client_sent(client: Client) -> None:
    """A sender's disposition about the id of a delivery of the client's does not settle that one."""
    session = client.session(SILENT)
    receiver = session.receiver(credit=1)
    (sender,) = sent(client, 1, session=session)
    number = first_id(sender)
    receiver.server_transfers(b"\x00Su\xa0\x01x", delivery_id=number)
    receiver.messages(1)
    session.says(Disposition(Role.SENDER, number, number, True, Accepted()))
    says(sender, number, number, True, Released())
    are(sender, "released")
