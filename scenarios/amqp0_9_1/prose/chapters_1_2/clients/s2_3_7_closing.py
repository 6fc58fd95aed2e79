"""2.3.6, 2.3.7 and 2.2.5: how a client closes, is closed, and tells why."""

from harness.amqp0_9_1.broken.deviations import (
    FrameRule,
    Interposer,
    adds,
    answers,
    ignores,
    rejects,
    replies,
    rewrites,
    spoils,
    withholds,
)
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.broken.provocations import precedes, says_instead
from harness.amqp0_9_1.client.outcomes import Received, answered, closed_silently, connection_closed
from harness.amqp0_9_1.client.transcript import ABOVE, Framed, readable
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.server.told import Message
from harness.amqp0_9_1.wire.frames import BODY, HEADER, METHOD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    NOT_ALLOWED,
    NOT_FOUND,
    REPLY_SUCCESS,
    RESOURCE_LOCKED,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Connection,
    Queue,
)
from harness.peers.interposer import Passed
from harness.play.watching import Found, Gaps, State, came, went
from harness.shims.contract import Kind, Refused
from harness.targets.client.ears import stays
from harness.wire.journal import RECEIVED
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

WHY = "there is no such thing"
UNKNOWN = 999
CLOSES_ALL = method_frame(0, Connection.Close(NOT_FOUND, WHY))


def asks_more(frame: Frame) -> Frame:
    return method_frame(frame.channel, Basic.Qos(0, 1))


# -- Close of the server's, in every state -------------------------------------------------------------


@scenario("0-9-1/prose/2.3.7.close-answered", role=Role.CLIENT)
@broken_by("does not hear it", withholds(Connection.Close), Role.CLIENT)
def client_answers_close_in_place_of_open_ok(client: Client) -> None:
    """The server closes in place of Open-Ok: Close-Ok comes, or the end of the socket.

    2.3.7 has every Close answered, 2.2.4 has no hand-shake before a connection is open: each is as good. A
    Close of the client's own may have been on its way.
    """
    client.connection()
    connection = client.connecting(rejects(Connection.Open, NOT_ALLOWED))
    connection.came(Connection.Open)
    ends = answered(Connection.CloseOk) | closed_silently()
    seen = connection.expect(ends | connection_closed(REPLY_SUCCESS))
    if isinstance(seen, Received) and isinstance(seen.method, Connection.Close):
        connection.expect(ends)


@scenario("0-9-1/prose/2.3.7.close-answered", role=Role.CLIENT)
@broken_by("answers none amid a content", ignores(Channel.CloseOk), Role.CLIENT)
def client_answers_close_amid_a_content(client: Client) -> None:
    """Behind a Get-Ok the server closes the channel before any header comes: Close-Ok comes.

    4.2.6 lets a method end a content, and has an incomplete one answered by an exception.
    """
    amid = says_instead(Basic.GetOk, Basic.GetOk(1, routing_key="amid"), Channel.Close(NOT_FOUND, WHY))
    connection = client.connection(amid, ignores(Channel.CloseOk))
    channel, queue = connection.channel(), client.name("queue")
    channel.call("queue.declare", queue=queue)
    channel.publish("never got", key=queue)
    channel.tries_to_get(queue)
    connection.came(Basic.Get)
    incomplete = connection_closed(UNEXPECTED_FRAME) | closed_silently()
    connection.expect(Channel.CloseOk, incomplete.under("4.2.6: an incomplete content ends the connection"))


@scenario("0-9-1/prose/2.3.7.close-answered", role=Role.CLIENT)
@broken_by("does not listen while idle", ignores(Connection.CloseOk), Role.CLIENT)
def client_answers_close_that_nothing_provoked(client: Client) -> None:
    """The server closes the connection before a reply is due: Close-Ok comes."""
    closes = precedes(Queue.DeclareOk, method_frame(0, Connection.Close(NOT_ALLOWED, WHY)))
    connection = client.connection(closes, ignores(Connection.CloseOk))
    connection.channel().tries("queue.declare", queue=client.name("queue"))
    connection.came(Queue.Declare)
    connection.expect(Connection.CloseOk)


# -- crossing, and what follows Close ------------------------------------------------------------------


@scenario("0-9-1/prose/2.3.7.crossing-closes", role=Role.CLIENT)
@broken_by("does not answer", ignores(Channel.CloseOk), Role.CLIENT)
@broken_by("waits for ever", withholds(Channel.CloseOk), Role.CLIENT)
def client_bears_crossing_closes(client: Client) -> None:
    """Before Close-Ok comes a Close of the server's: the client answers it, and can use another channel."""
    crosses = precedes(Channel.CloseOk, Channel.Close(RESOURCE_LOCKED, WHY))
    connection = client.connection(crosses, ignores(Channel.CloseOk))
    channel = connection.channel()
    channel.call("queue.declare", queue=client.name("queue"))
    refused = channel.closes()
    connection.came(Channel.Close)
    connection.expect(Channel.CloseOk)
    waited = refused is not None and refused.kind is Kind.TIMEOUT
    client.judge("a closed channel", refused.told if refused else "", not waited)
    connection.works_on()


def is_closed(client: Client, what: str, refused: Refused | None) -> None:
    """Judge that a close has succeeded; which error comes in its place may be up to its threads."""
    if refused:
        client.note(f"told is {refused.told}")
    client.judge(what, "an error", refused is None)


@scenario("0-9-1/channel.close.stability", role=Role.CLIENT)
@broken_by("answers what it should discard", replies(Channel.Flow, Channel.FlowOk(False)), Role.CLIENT)
def client_discards_what_follows_its_channel_close(client: Client) -> None:
    """Before Close-Ok come a Flow and a Declare-Ok: neither is answered, and another channel can be used."""
    stale = (Channel.Flow(False), Queue.DeclareOk("stale", 0, 0))
    connection = client.connection(precedes(Channel.CloseOk, *stale))
    channel = connection.channel()
    channel.call("queue.declare", queue=client.name("queue"))
    refused = channel.closes()
    connection.came(Channel.Close)
    connection.stays_quiet()
    is_closed(client, "a closed channel", refused)
    connection.works_on()


@scenario("0-9-1/connection.close.stability", role=Role.CLIENT)
@broken_by("answers what it should discard", replies(Channel.Flow, Channel.FlowOk(False)), Role.CLIENT)
def client_discards_what_follows_its_connection_close(client: Client) -> None:
    """Before Close-Ok come a Flow and a Declare-Ok on an open channel: neither is answered before the end."""
    stale = (method_frame(1, Channel.Flow(False)), method_frame(1, Queue.DeclareOk("stale", 0, 0)))
    connection = client.connection(precedes(Connection.CloseOk, *stale))
    connection.channel().call("queue.declare", queue=client.name("queue"))
    refused = connection.closes()
    connection.came(Connection.Close)
    connection.expect(closed_silently())
    is_closed(client, "a closed connection", refused)


@scenario("0-9-1/prose/2.3.7.client-close-unanswered", slow=True, role=Role.CLIENT)
@broken_by("leaves the socket open", stays(), Role.CLIENT)
def client_ends_though_its_close_is_not_answered(client: Client) -> None:
    """The client's Close is not answered: it comes back some time, and closes the socket."""
    connection = client.connection(ignores(Connection.Close))
    connection.closes()
    connection.came(Connection.Close)
    connection.expect(closed_silently())


# -- the channel that is closed, and the others --------------------------------------------------------


class Numbers(State):
    """The channels that are open, those that the client has closed, and those that the server has."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.left: set[int] = set()
        self.closed: set[int] = set()

    def takes(self, each: Framed) -> None:
        """Take over what a method means to its channel."""
        number = each.unit.channel
        match each.said, each.direction is RECEIVED:
            case Channel.Open(), True:
                self.open.add(number)
                self.left.discard(number)
            case Channel.Close(), True:
                self.open.discard(number)
                self.left.add(number)
            case Channel.CloseOk(), True:
                self.open.discard(number)
                self.closed.discard(number)
            case Channel.Close(), False:
                self.closed.add(number)


ON_CHANNELS = came(METHOD, HEADER, BODY, on=ABOVE) + went(Channel.Close)


@watch(
    "0-9-1/prose/2.3.7.client-quiet-on-closed-channel",
    during=TALK,
    looks_at=ON_CHANNELS,
    start=Numbers,
    gap=Gaps.STOPS,
    role=Role.CLIENT,
)
@broken_by("goes on behind Close", adds(sent_on(Channel.Close), asks_more, from_server=False), Role.CLIENT)
def client_uses_open_channels_alone(numbers: Numbers, each: Framed) -> Found:
    """On a channel that is not open nothing comes but Open, and Close-Ok where the server has closed it.

    What answers a method that comes behind the client's Close is for 0-9-1/channel.close.stability, even
    where Close-Ok is on its way already.
    """
    number, said = each.unit.channel, each.said
    may = (
        number in numbers.open
        or isinstance(said, Channel.Open)
        or (isinstance(said, Channel.CloseOk) and number in numbers.closed)
        or (isinstance(said, Channel.FlowOk) and number in numbers.left)
    )
    numbers.takes(each)
    if each.direction is not RECEIVED:
        return None
    return may or f"{said.full_name if said else 'a content'} on channel {number} at {each.at:.4f} s"


@watch(
    "0-9-1/channel.open.state",
    during=TALK,
    looks_at=ON_CHANNELS,
    start=Numbers,
    gap=Gaps.STOPS,
    role=Role.CLIENT,
)
@broken_by("opens twice", adds(sent_on(Channel.Open), lambda it: it, from_server=False), Role.CLIENT)
def client_opens_no_channel_twice(numbers: Numbers, each: Framed) -> Found:
    """Channel.Open comes on no channel that is open already."""
    opens, was_open = isinstance(each.said, Channel.Open), each.unit.channel in numbers.open
    numbers.takes(each)
    return (not was_open or f"on channel {each.unit.channel} at {each.at:.4f} s") if opens else None


def confirms_it(frame: Frame) -> Passed:
    return [], [method_frame(frame.channel, Channel.CloseOk())]


UNIMPRESSED = Interposer(frames=(FrameRule(sent_on(Channel.Close), True, confirms_it),)) + answers(
    Queue.Declare, Queue.DeclareOk("as before", 0, 0), when=lambda it: not it.passive
)


@scenario("0-9-1/prose/2.3.7.client-refuses-closed-channel", role=Role.CLIENT)
@broken_by("does not tell", UNIMPRESSED, Role.CLIENT)
def client_refuses_a_channel_that_was_closed(client: Client) -> None:
    """A channel that the server has closed is used: the client refuses, unless it has opened it again."""
    connection = client.connection()
    channel = connection.channel()
    channel.attempt("queue.declare", queue=client.name("missing"), passive=True)
    connection.came(Channel.CloseOk)
    told = channel.tries("queue.declare", queue=client.name("queue"))
    connection.hear_out()
    opened = [each for each in connection.link.received() if isinstance(readable(each), Channel.Open)]
    refused = isinstance(told, Refused) or len(opened) > 1
    client.judge("a refusal", "as if the channel were open", refused)


@scenario("0-9-1/prose/2.2.5.client-channels-independent", role=Role.CLIENT)
@broken_by("gives all of them up", spoils(sent_on(Channel.Close), lambda _: CLOSES_ALL), Role.CLIENT)
def client_goes_on_with_other_channels(client: Client) -> None:
    """One of two channels is closed by the server: on the other a queue is declared, and a message got."""
    connection = client.connection()
    other, channel = connection.channel(), connection.channel()
    channel.attempt("queue.declare", queue=client.name("missing"), passive=True)
    queue = client.name("queue")
    told = other.tries("queue.declare", queue=queue)
    client.judge("a queue", "none", not isinstance(told, Refused))
    refused = other.tries_to_publish("on the other", key=queue)
    client.judge("a message", refused.told if refused else "", refused is None)
    got = other.tries_to_get(queue)
    client.judge("the message", "none", isinstance(got, Message) and got.text == "on the other")


# -- why -----------------------------------------------------------------------------------------------


def told_why(connection: JudgedConnection, refused: Refused | None) -> tuple[object, str]:
    """Give code and text as the client told them, with the failure of the call or as an event."""
    if refused is not None and refused.kind is Kind.CLOSED:
        return refused.code, refused.text
    for each in connection.tells("closed"):
        return each.told.get("code", ""), str(each.told.get("text", ""))
    return "", ""


def closed_by_the_server(client: Client, code: int, text: str) -> tuple[object, str]:
    """Have a channel closed with this code and text; give both as told."""
    connection = client.connection(rewrites(Channel.Close, reply_code=code, reply_text=text))
    missing = client.name("missing")
    refused = connection.channel().attempt("queue.declare", queue=missing, passive=True)
    return told_why(connection, refused)


def judge_told(client: Client, expected: int, code: object, text: str) -> None:
    client.judge(f"the code {expected}", f"the code {code}", code == expected)
    client.judge("the text", "another text", WHY in text)


@scenario("0-9-1/prose/2.3.6.client-tells-why", role=Role.CLIENT)
@broken_by("tells another code", rewrites(Channel.Close, reply_code=NOT_ALLOWED), Role.CLIENT)
@broken_by("tells no text", rewrites(Channel.Close, reply_text=""), Role.CLIENT)
@broken_by("tells none of connections", rewrites(Connection.Close, reply_text="", reply_code=0), Role.CLIENT)
def client_tells_why_it_was_closed(client: Client) -> None:
    """A channel is closed with 404, and a connection with 530: code and text reach the application."""
    code, text = closed_by_the_server(client, NOT_FOUND, WHY)
    judge_told(client, NOT_FOUND, code, text)
    closes = Connection.Close(NOT_ALLOWED, WHY)
    connection = client.connection(says_instead(Queue.DeclareOk, method_frame(0, closes)))
    refused = connection.channel().attempt("queue.declare", queue=client.name("queue"))
    code, text = told_why(connection, refused)
    judge_told(client, NOT_ALLOWED, code, text)


@scenario("0-9-1/prose/2.3.6.client-tells-unknown-code", role=Role.CLIENT)
@broken_by("takes it for another", rewrites(Channel.Close, reply_code=NOT_ALLOWED), Role.CLIENT)
def client_tells_a_code_that_it_does_not_know(client: Client) -> None:
    """A channel is closed with the code 999 and no text: the application is told 999."""
    code, _ = closed_by_the_server(client, UNKNOWN, "")
    client.judge("999", f"{code}", code == UNKNOWN)
