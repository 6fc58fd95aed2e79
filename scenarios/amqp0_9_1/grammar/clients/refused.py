"""What a client makes of methods that a server must not send: it does not take them for good."""

from harness.amqp0_9_1.broken.deviations import Interposer, ignores, replaces, rewrites, spoils, withholds
from harness.amqp0_9_1.broken.frame_faults import sent_on, unreadable, with_more, without_its_last
from harness.amqp0_9_1.broken.provocations import follows, says_instead
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed, silence
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.frames import METHOD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection, Queue
from harness.shims.contract import Refused
from scenarios.amqp0_9_1.grammar.calls import of_clients
from scenarios.amqp0_9_1.grammar.malformed import NO_CLASS, NO_METHOD, overlong
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.rules import Role

ENDS = (
    connection_closed(),
    closed_silently().under("2.3.7: an open connection is closed by a hand-shake"),
)
"""How a client ends the connection upon a fault of the server's."""
GOES_ON = silence().under("the library tells its application and goes on: no words demand an exception")
DECLARE_OK = sent_on(Queue.DeclareOk)
NO_SUCH_CLASS = NO_CLASS.to_bytes(2) + (10).to_bytes(2)
NO_SUCH_METHOD = Basic.Properties.class_index.to_bytes(2) + NO_METHOD.to_bytes(2)
TAKES_IT = spoils(
    unreadable(Queue.DeclareOk), lambda it: method_frame(it.channel, Queue.DeclareOk("made-up"))
)
"""Looks like a client that makes up what it cannot read."""
TAKES_IT_FOR_ITS_OWN = withholds(Queue.DeclareOk, when=lambda it: it.queue == "nobody-asked") + rewrites(
    Queue.DeclareOk, skip=1, message_count=7
)
TOO_FAR = spoils(DECLARE_OK, lambda it: Frame(METHOD, it.channel, overlong(it.method())))


def stray(payload: bytes) -> Interposer:
    """Says a method frame with such a payload behind the answer to Purge."""
    return follows(Queue.PurgeOk, lambda channel: Frame(METHOD, channel, payload).encode())


def is_silent_then() -> Interposer:
    """Looks like a client that says nothing to it."""
    return ignores(Connection.Close)


def provoked(client: Client, by: Interposer) -> JudgedConnection:
    """Have the client declare a queue, and purge it; behind the answer comes what it is provoked by."""
    connection = client.connection(by)
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    channel.tries("queue.purge", queue=queue)  # what comes of it may be lost with the connection
    connection.came(Queue.Purge)
    return connection


def is_not_taken(client: Client, by: Interposer) -> JudgedConnection:
    """Have the client declare a queue, whose answer is not what it should be: the call does not succeed."""
    connection = client.connection(by)
    channel, queue = connection.channel(), client.name("queue")
    connection.hear_out()
    refused = channel.tries("queue.declare", queue=queue)
    client.judge("the call does not succeed", "it succeeds", isinstance(refused, Refused))
    connection.came(Queue.Declare)
    return connection


@scenarios_for(of_clients("client-unknown-class"), role=Role.CLIENT)
@broken_by("says nothing to it", is_silent_then(), Role.CLIENT)
def client_refuses_a_class_that_is_none(client: Client, _: Subject) -> None:
    """Behind an answer comes a method of a class that does not exist: the client ends the connection."""
    provoked(client, stray(NO_SUCH_CLASS)).expect(*ENDS)


@scenarios_for(of_clients("client-unknown-method"), role=Role.CLIENT)
@broken_by("says nothing to it", is_silent_then(), Role.CLIENT)
def client_refuses_a_method_that_is_none(client: Client, _: Subject) -> None:
    """Behind an answer comes a method that Basic does not have: the client ends the connection."""
    provoked(client, stray(NO_SUCH_METHOD)).expect(*ENDS)


@scenarios_for(of_clients("client-wrong-way"), role=Role.CLIENT)
@broken_by("says nothing to it", is_silent_then(), Role.CLIENT)
def client_refuses_what_clients_send(client: Client, _: Subject) -> None:
    """Behind an answer the server says queue.declare: the client ends the connection."""
    provoked(client, stray(Queue.Declare("theirs").encode())).expect(*ENDS)


@scenarios_for(of_clients("client-truncated"), role=Role.CLIENT)
@broken_by("takes it", TAKES_IT, Role.CLIENT)
def client_does_not_take_a_method_cut_short(client: Client, _: Subject) -> None:
    """Declare-Ok ends early: the call does not succeed, and the client ends the connection."""
    is_not_taken(client, spoils(DECLARE_OK, without_its_last(3))).expect(*ENDS, GOES_ON)


@scenarios_for(of_clients("client-overlong"), role=Role.CLIENT)
@broken_by("takes it", TAKES_IT, Role.CLIENT)
def client_does_not_take_a_length_beyond_the_frame(client: Client, _: Subject) -> None:
    """The name in Declare-Ok reaches beyond its frame: the call fails, and the client ends the connection."""
    is_not_taken(client, TOO_FAR).expect(*ENDS, GOES_ON)


@scenarios_for(of_clients("client-trailing"), role=Role.CLIENT)
@broken_by("falls silent", ignores(Connection.Close), Role.CLIENT)
def client_notices_more_than_a_method(client: Client, _: Subject) -> None:
    """Declare-Ok has octets behind it: the client ends the connection, or passes them over and goes on."""
    connection = client.connection(spoils(DECLARE_OK, with_more(b"more")))
    channel = connection.channel()
    connection.hear_out()
    told = channel.tries("queue.declare", queue=client.name("queue"))
    connection.came(Queue.Declare)
    if isinstance(told, Refused):
        connection.expect(*ENDS)
    else:
        client.note("the octets behind the last argument were passed over")
        connection.works_on()


@scenarios_for(of_clients("client-wrong-reply"), role=Role.CLIENT)
@broken_by("takes it", replaces(Queue.BindOk, Queue.DeclareOk("another")), Role.CLIENT)
def client_does_not_take_another_reply(client: Client, _: Subject) -> None:
    """In place of Declare-Ok comes Bind-Ok: the call does not succeed."""
    is_not_taken(client, says_instead(Queue.DeclareOk, Queue.BindOk()))


@scenarios_for(of_clients("client-unasked-reply"), role=Role.CLIENT)
@broken_by("takes it for its own", TAKES_IT_FOR_ITS_OWN, Role.CLIENT)
def client_does_not_take_a_reply_it_did_not_ask_for(client: Client, _: Subject) -> None:
    """Behind Purge-Ok comes a Declare-Ok of another queue: what is declared next is not called so."""
    unasked = follows(Queue.PurgeOk, Queue.DeclareOk("nobody-asked", 7, 7))
    connection = client.connection(unasked)
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    channel.tries("queue.purge", queue=queue)
    told = channel.tries("queue.declare", queue=queue, durable=False, exclusive=False, auto_delete=False)
    shifted = not isinstance(told, Refused) and told.get("message-count") == 7
    client.judge("the reply is its own", "the reply that nobody asked for was taken", not shifted)
