"""2.8.15 and 2.8.17, of clients: the conditions by which they refuse a field, and what exceeds a window."""

from harness.amqp1_0.broken.deviations import (
    answers,
    ends_stream,
    forwards,
    ignores,
    of_client,
    rewrites,
)
from harness.amqp1_0.client.outcomes import Refusal, refused
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Begin,
    Close,
    End,
    Error,
    Flow,
    SessionError,
    Transfer,
)
from harness.amqp1_0.wire.types import As
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.grammar.clients import lives
from scenarios.amqp1_0.talk import CLIENT, hears
from scenarios.registry import broken_by, scenario

STR8 = 0xA1
"""The constructor of a short string."""
OURS = Error(AmqpError.INTERNAL_ERROR, "the client would not have done so")
ANOTHER = "the condition that fits is the client's choice: another may fit as well"
MOST = 10_000
"""Transfers of a window that is filled with decent effort."""


@scenario("1-0/2.8.15.invalid-field", role=CLIENT)
@broken_by("begins all the same", rewrites(Begin, incoming_window=9), CLIENT)
@broken_by("gives another condition", forwards(Close, error=OURS), CLIENT)
@broken_by("gives no reason", forwards(Close, error=None), CLIENT)
@broken_by("ends the stream without a close", of_client(ends_stream(Close)), CLIENT)
def a_client_calls_a_field_that_is_not_valid_so(client: Client) -> None:
    """A begin of the server's whose incoming-window is a string ends session or connection: invalid-field.

    Who reads fields by their types cannot decode it: decode-error fits as well.
    """
    lives(client)
    connection = client.connecting(rewrites(Begin, incoming_window=As(STR8, "many")))
    if connection.refused is None:
        connection.tries_session()
    fitting = refused(Refusal.SESSION, AmqpError.INVALID_FIELD, AmqpError.DECODE_ERROR)
    connection.expect_ending(*fitting)


def opened_for(said: Flow) -> int:
    """Give how many transfers of the server's a flow of the client has room for, from the first on."""
    return int(said.next_incoming_id or 0) + int(said.incoming_window)


@scenario("1-0/2.8.17.window-violation", role=CLIENT)
@broken_by("takes it", ignores(Flow), CLIENT)
@broken_by(
    "has another condition",
    ignores(Flow) + of_client(answers(Transfer, End(OURS), skip=1)),
    CLIENT,
)
def more_transfers_to_a_client_than_its_window_takes_violate_it(client: Client) -> None:
    """In one write come as many transfers as the client's incoming-window has room for, and one more.

    A client that opens its window as fast as it is used gives no occasion.
    """
    session = client.session()
    begin = session.received()[0].performative
    window = int(begin.incoming_window)
    if window > MOST:
        raise Inapplicable(f"the client has an incoming-window of more than {MOST} transfers")
    receiver = session.receiver(credit=1)
    part = Transfer(receiver.server_handle, 0, b"t", 0, more=True)
    session.says(*[part] * window, part.replace(more=None))
    hears(session)
    ends = session.sent(End)
    if not ends and any(opened_for(each) > window for each in session.sent(Flow)):
        raise Inapplicable("the client opens its window as fast as it is used")
    conditions = [each.error.condition if each.error is not None else "without error" for each in ends]
    told = f"end {conditions[0]}" if ends else "no end"
    named = conditions == [SessionError.WINDOW_VIOLATION]
    reading = ANOTHER if ends and ends[0].error is not None else ""
    client.judge(f"end {SessionError.WINDOW_VIOLATION}", told, named, reading)
