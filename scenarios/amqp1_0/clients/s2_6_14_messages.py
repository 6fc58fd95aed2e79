"""2.6.12 to 2.6.14 and 2.7.5, of clients: messages that they receive, whole and in parts, and settle."""

from typing import Any

from harness.amqp1_0.broken.deviations import (
    answers,
    forwards,
    ignores,
    of_client,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import covers, detached, ended_or_closed, fields, stream_ended
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedReceiver
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Close,
    Disposition,
    End,
    Error,
    Received,
    ReceiverSettleMode,
    Role,
    Transfer,
)
from harness.amqp1_0.wire.serial import SIZE
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.talk import CLIENT, arrives, goes_on, hears
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
SECOND = ReceiverSettleMode.SECOND
BODY, OTHER = "first half and second half", "one half and the other"
NO_WORD = "that a close comes before the end of the stream is judged by 1-0/2.4.3.close-before-closing"
REFUSES = of_client(answers(Transfer, Close(OURS)))
LOSES = withholds(Transfer)


def receiving(client: Client, credit: int = 10, **how: Any) -> JudgedReceiver:
    """Give a link on which the client has got a message, with credit for more."""
    receiver = client.session().receiver(credit=credit, **how)
    receiver.server_transfers(message(b"control"))
    receiver.messages(1)
    return receiver


def parts(receiver: JudgedReceiver, body: str = BODY, **last: Any) -> None:
    """Have our server send a message in two transfers, the second altered as given."""
    octets = message(body.encode())
    receiver.server_transfers(octets[:9], more=True)
    receiver.server_transfers(octets[9:], **last)


def got(receiver: JudgedReceiver, *texts: str) -> None:
    """Judge what has come behind the control."""
    arrives(receiver, "control", *texts)


# -- in parts ------------------------------------------------------------------------------------------


@scenario("1-0/2.6.14.whole-message", role=CLIENT)
@broken_by("keeps the first part", rewrites(Transfer, when=lambda it: it.more, more=False), CLIENT)
@broken_by("refuses it", REFUSES, CLIENT)
def a_client_gets_a_message_in_several_transfers_whole(client: Client) -> None:
    """A message in three transfers, of which one is empty, arrives as it was sent."""
    receiver = receiving(client)
    octets = message(BODY.encode())
    for piece in (octets[:9], b""):
        receiver.server_transfers(piece, more=True)
    receiver.server_transfers(octets[9:])
    got(receiver, BODY)


@scenario("1-0/2.7.5.continuation-id-repeated", role=CLIENT)
@broken_by("wants it repeated", withholds(Transfer, when=lambda it: it.delivery_id is None), CLIENT)
def a_later_transfer_to_a_client_may_leave_out_the_id(client: Client) -> None:
    """Messages in two transfers arrive whole, whether the second says the delivery-id again or not."""
    receiver = receiving(client)
    parts(receiver, BODY)
    left_out = {"delivery_id": None, "delivery_tag": None, "message_format": None}
    parts(receiver, OTHER, **left_out)
    got(receiver, BODY, OTHER)


@scenario("1-0/2.6.14.interleaved-links", role=CLIENT)
@broken_by("mixes them", rewrites(Transfer, when=lambda it: not it.more, handle=0), CLIENT)
@broken_by("refuses it", REFUSES, CLIENT)
def messages_on_two_links_to_a_client_are_interleaved(client: Client) -> None:
    """The halves of two messages, in turn on two links: both arrive whole."""
    session = client.session()
    links = [session.receiver(credit=1) for _ in range(2)]
    bodies = [message(each.encode()) for each in (BODY, OTHER)]
    fresh = [{"delivery_id": number, "delivery_tag": b"%d" % number} for number in range(2)]
    for link, octets, said in zip(links, bodies, fresh, strict=True):
        link.server_transfers(octets[:9], more=True, **said)
    for link, octets, said in zip(links, bodies, fresh, strict=True):
        link.server_transfers(octets[9:], **said)
    arrives(links[0], BODY)
    arrives(links[1], OTHER)


@scenario("1-0/2.6.14.aborted-discarded", role=CLIENT)
@broken_by("keeps what was aborted", rewrites(Transfer, aborted=None), CLIENT)
@broken_by("refuses it", REFUSES, CLIENT)
def a_client_throws_away_what_is_aborted(client: Client) -> None:
    """Of an aborted delivery and a whole one the whole one arrives alone."""
    receiver = receiving(client)
    parts(receiver, aborted=True)
    receiver.server_transfers(message(b"whole"))
    got(receiver, "whole")


@scenario("1-0/2.7.5.aborted-ignores-more", role=CLIENT)
@broken_by("waits for more", rewrites(Transfer, aborted=None), CLIENT)
def an_aborted_transfer_is_the_last_for_a_client(client: Client) -> None:
    """A message behind a transfer with aborted and more arrives alone."""
    receiver = receiving(client)
    octets = message(BODY.encode())
    number = receiver.session.server.next_delivery_id
    receiver.server_transfers(octets[:9], more=True)
    receiver.server_transfers(octets[9:], more=True, aborted=True)
    receiver.server_transfers(message(b"whole"), delivery_id=number + 1, delivery_tag=b"whole")
    got(receiver, "whole")


def is_refused(receiver: JudgedReceiver) -> None:
    """Judge that link, session or connection is ended with an error."""
    receiver.expect(detached() | ended_or_closed(), stream_ended().under(NO_WORD))


SPOILT = rewrites(
    Transfer, when=lambda it: not it.more, skip=1, delivery_id=None, delivery_tag=None, message_format=None
) + rewrites(Transfer, rcv_settle_mode=None)
"""Takes it for the same."""


@scenario("1-0/2.7.5.another-id-refused", role=CLIENT)
@broken_by("takes it for the same", SPOILT, CLIENT)
def a_client_refuses_another_id_amid_a_delivery(client: Client) -> None:
    """A second transfer with another delivery-id than the first is refused."""
    receiver = receiving(client)
    parts(receiver, delivery_id=99)
    is_refused(receiver)


@scenario("1-0/2.7.5.another-tag-refused", role=CLIENT)
@broken_by("takes it for the same", SPOILT, CLIENT)
def a_client_refuses_another_tag_amid_a_delivery(client: Client) -> None:
    """A second transfer with another delivery-tag than the first is refused."""
    receiver = receiving(client)
    parts(receiver, delivery_tag=b"another")
    is_refused(receiver)


@scenario("1-0/2.7.5.another-format-refused", role=CLIENT)
@broken_by("takes it for the same", SPOILT, CLIENT)
def a_client_refuses_another_format_amid_a_delivery(client: Client) -> None:
    """A second transfer with another message-format than the first is refused."""
    receiver = receiving(client)
    parts(receiver, message_format=1)
    is_refused(receiver)


@scenario("1-0/2.6.14.interleaved-on-one-link", role=CLIENT)
@broken_by("takes it for the same", rewrites(Transfer, skip=2, delivery_id=None, delivery_tag=None), CLIENT)
def messages_are_not_mixed_on_one_link_to_a_client(client: Client) -> None:
    """The first transfer of another message amid one on the same link is refused."""
    receiver = receiving(client)
    number = receiver.session.server.next_delivery_id
    for each in (number, number + 1):
        receiver.server_transfers(b"\x00", more=True, delivery_id=each, delivery_tag=b"%d" % each)
    is_refused(receiver)


@scenario("1-0/2.7.5.second-on-first-refused", role=CLIENT)
@broken_by("takes it for first", rewrites(Transfer, rcv_settle_mode=None), CLIENT)
def a_client_refuses_second_where_first_was_agreed(client: Client) -> None:
    """A transfer that wants to be settled second on a link of first is refused."""
    receiver = receiving(client, rcv="first")
    receiver.server_transfers(message(b"x"), rcv_settle_mode=SECOND)
    is_refused(receiver)


# -- what a transfer may say ---------------------------------------------------------------------------


@scenario("1-0/2.7.5.state-borne", role=CLIENT)
@broken_by("refuses it", of_client(answers(Transfer, Close(OURS), skip=1)), CLIENT)
@broken_by("loses it", withholds(Transfer, skip=1), CLIENT)
def a_transfer_to_a_client_may_say_a_state(client: Client) -> None:
    """A message whose transfer says a state that is not the last one arrives."""
    receiver = receiving(client)
    receiver.server_transfers(message(b"x"), state=Received(0, 0))
    got(receiver, "x")


@scenario("1-0/2.7.5.settled-ignores-the-mode", role=CLIENT)
@broken_by("loses it", withholds(Transfer, skip=1), CLIENT)
def the_mode_of_a_settled_transfer_is_ignored_by_a_client(client: Client) -> None:
    """On a link of first, a message that is sent settled and says second arrives."""
    receiver = receiving(client, rcv="first")
    receiver.server_transfers(message(b"x"), settled=True, rcv_settle_mode=SECOND)
    got(receiver, "x")


@scenario("1-0/2.7.5.batchable-borne", role=CLIENT)
@broken_by("waits for ever", ignores(Disposition), CLIENT)
def a_client_settles_what_is_batchable(client: Client) -> None:
    """A message that is in no hurry is settled all the same."""
    receiver = client.session().receiver(credit=1)
    receiver.server_transfers(message(b"x"), batchable=True)
    for each in receiver.messages(1):
        receiver.settle(each)
    receiver.expect(fields(Disposition, role=Role.RECEIVER))


@scenario("1-0/2.7.5.resumed-unknown-ignored", role=CLIENT)
@broken_by("takes it for new", rewrites(Transfer, resume=None), CLIENT)
@broken_by("loses the next one, too", withholds(Transfer, skip=1), CLIENT)
def a_client_ignores_a_resumed_delivery_that_it_does_not_know(client: Client) -> None:
    """Of a resumed delivery and a new one the new one alone arrives."""
    receiver = receiving(client)
    receiver.server_transfers(message(b"resumed"), resume=True)
    receiver.server_transfers(message(b"new"))
    got(receiver, "new")


@scenario("1-0/2.8.11.later-version-taken", role=CLIENT)
@broken_by("loses it", withholds(Transfer, skip=1), CLIENT)
def a_client_takes_a_later_version_of_a_format(client: Client) -> None:
    """A message of version 1 of the format whose version 0 is taken arrives."""
    receiver = receiving(client)
    receiver.server_transfers(message(b"x"), message_format=1)
    got(receiver, "x")


LARGE, ROOM = 65536, 100
"""Octets of a frame, beyond which none is sent; and of all in it that is not the body."""


@scenario("1-0/2.7.5.one-transfer", role=CLIENT)
@broken_by("loses it", LOSES, CLIENT)
def a_message_to_a_client_may_fill_the_largest_frame(client: Client) -> None:
    """A message in one transfer whose frame is nearly as large as may be arrives."""
    session = client.session()
    receiver = session.receiver(credit=1)
    size = min(int(session.connection.opened.max_frame_size), LARGE) - ROOM
    receiver.server_transfers(message(bytes(size)))
    sizes = [each.size for each in receiver.messages(1)]
    client.judge(f"a message of {size} octets", f"messages of {sizes} octets", sizes == [size])


# -- settling ------------------------------------------------------------------------------------------


def settled(receiver: JudgedReceiver, **fields: Any) -> None:
    """Have our server send a message, and the client accept it, as far as it can."""
    receiver.server_transfers(message(b"x"), **fields)
    for each in receiver.messages(1):
        receiver.tries_to_settle(each)


@scenario("1-0/2.7.5.unset-means-unsettled", role=CLIENT)
@broken_by("takes it for settled", rewrites(Transfer, settled=True), CLIENT)
def what_does_not_say_settled_is_not_for_a_client(client: Client) -> None:
    """A disposition comes for a message whose transfer does not say settled, and that is accepted."""
    receiver = client.session().receiver(credit=1)
    settled(receiver)
    receiver.expect(fields(Disposition, role=Role.RECEIVER))


@scenario("1-0/2.7.5.settled-later", role=CLIENT)
@broken_by("looks at the first transfer alone", rewrites(Transfer, skip=2, settled=None), CLIENT)
def a_later_transfer_settles_its_delivery_for_a_client(client: Client) -> None:
    """A message in two transfers of which the second alone says settled arrives, without a disposition.

    What the client says where the only transfer says settled, when it is told to accept it, decides nothing.
    """
    receiver = client.session().receiver(credit=2)
    settled(receiver, settled=True)
    hears(receiver.session)
    if receiver.session.sent(Disposition):
        raise Inapplicable("the client says what becomes of settled messages, too")
    parts(receiver, settled=True)
    arrives(receiver, "x", BODY)
    receiver.tries_to_settle(receiver.messages(2)[1])
    receiver.connection.sends_no(Disposition)


@scenario("1-0/2.7.5.first-settles", role=CLIENT)
@broken_by("waits", forwards(Disposition, settled=False), CLIENT)
def a_client_of_first_settles(client: Client) -> None:
    """The disposition for a message on a link of first settles it."""
    receiver = client.session().receiver(credit=1, rcv="first")
    settled(receiver)
    receiver.expect(fields(Disposition, role=Role.RECEIVER, settled=True))


def of_second(client: Client) -> JudgedReceiver:
    """Give a link on which the client settles second. Raises Inapplicable."""
    receiver = client.session().receiver(credit=1, rcv="second")
    if receiver.attach.rcv_settle_mode != SECOND:
        raise Inapplicable("the client does not ask for this settlement mode")
    return receiver


@scenario("1-0/2.7.5.second-waits", role=CLIENT)
@broken_by("settles first", forwards(Disposition, settled=True), CLIENT)
@broken_by("says nothing", ignores(Disposition), CLIENT)
@broken_by("has no outcome", forwards(Disposition, state=None), CLIENT)
def a_client_of_second_waits_for_the_sender(client: Client) -> None:
    """The disposition for a message on a link of second has an outcome, and does not settle it."""
    receiver = of_second(client)
    settled(receiver)
    said = receiver.expect(fields(Disposition, role=Role.RECEIVER, settled=False))
    client.judge("an outcome", "no outcome", said.state is not None)


@scenario("1-0/2.6.12.final-settlement-silent", role=CLIENT)
@broken_by(
    "tells of it",
    of_client(answers(Disposition, Disposition(Role.RECEIVER, 0, 0, True, Accepted()))),
    CLIENT,
)
def a_client_settles_last_without_a_word(client: Client) -> None:
    """A delivery on a link of second is settled by its sender: no disposition comes for that."""
    receiver = of_second(client)
    receiver.server_sends(message(b"x"))
    for each in receiver.messages(1):
        receiver.settle(each)
    said = receiver.expect(Disposition)
    if said.settled:
        raise Inapplicable("the client settles first where second was agreed on")
    receiver.connection.sends_no(Disposition)


@scenario("1-0/2.7.3.receiver-mode-respected", role=CLIENT)
@broken_by("ends the session", of_client(replaces(Disposition, End(OURS))), CLIENT)
def a_client_takes_the_mode_that_the_sender_wants(client: Client) -> None:
    """A server answers that it wants to be settled second: the disposition does not settle."""
    receiver = client.session(rewrites(Attach, rcv_settle_mode=SECOND)).receiver(credit=1)
    settled(receiver)
    receiver.expect(
        fields(Disposition, settled=False),
        fields(Disposition, settled=True).under("second need not be supported"),
    )


@scenario("1-0/2.7.6.sender-may-say", role=CLIENT)
@broken_by("ends the session", of_client(answers(Disposition, End(OURS))), CLIENT)
def a_client_bears_that_its_sender_settles(client: Client) -> None:
    """A message, and behind it a disposition of the server that settles it: the session goes on."""
    receiver = receiving(client)
    number = receiver.session.server.next_delivery_id
    receiver.server_transfers(message(b"told"))
    receiver.session.says(Disposition(Role.SENDER, number, number, True, Accepted()))
    goes_on(receiver.session)


@scenario("1-0/2.8.10.delivery-id-wraps", role=CLIENT)
@broken_by("loses what is behind the wrap", withholds(Transfer, skip=2), CLIENT)
@broken_by("counts on", forwards(Disposition, when=lambda it: it.first == 0, first=7, last=7), CLIENT)
def delivery_ids_wrap_around_for_a_client(client: Client) -> None:
    """Four messages whose delivery-ids begin with 2^32-2 are accepted, each by its id."""
    receiver = client.session().receiver(credit=4)
    ids = [SIZE - 2, SIZE - 1, 0, 1]
    for number in ids:
        receiver.server_transfers(message(b"%d" % number), delivery_id=number, delivery_tag=b"%d" % number)
    arrives(receiver, *map(str, ids))
    if not any(receiver.tries_to_settle(each) for each in receiver.messages(4)):
        hears(receiver.session)
    said = receiver.session.sent(Disposition)
    missed = [number for number in ids if not any(covers(each, number) for each in said)]
    client.judge("dispositions for all four", f"none for {missed}", not missed)
