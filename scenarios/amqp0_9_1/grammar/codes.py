"""Reply codes: a soft error closes the channel, a hard error the connection."""

from collections.abc import Callable, Mapping

from harness.amqp0_9_1.broken.deviations import Fault, Interposer, changes
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.outcomes import (
    Observation,
    Received,
    channel_closed,
    connection_closed,
    silence,
)
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEADER, METHOD, ContentHeader, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import CONNECTION_FORCED, Basic, Channel, Connection, Exchange, Queue
from harness.peers.interposer import Passed, Rule, always
from harness.play.expect import Outcome
from harness.play.watching import Found, came
from scenarios.amqp0_9_1.grammar.calls import AT_ONCE, UNUSED, Call, given, of
from scenarios.registry import broken_by, scenario, scenarios_for, watches_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.readers.amqp0_9_1 import Constant

CLOSE = (Channel.Close, Connection.Close)
HUGE = 1 << 62
TOLD = "restart: connections are told"


def _on_a_channel(broker: Broker) -> Call:
    channel = broker.channel()
    return Call(channel.connection, channel.number, FENCE)


def sends(made: Callable[[Broker], Method]) -> Callable[[Broker], Call]:
    """Provoke a code by a method on a channel in use."""

    def provoke(broker: Broker) -> Call:
        call = _on_a_channel(broker)
        call.send(made(broker))
        return call

    return provoke


def content_too_large(broker: Broker) -> Call:
    """Send a content header that announces more than any server holds."""
    call = _on_a_channel(broker)
    call.channel.send(Basic.Publish("", call.channel.declare_queue()))
    header = ContentHeader(Basic.Publish.spec.class_index, HUGE, Basic.Properties())
    call.connection.send_frames(Frame(HEADER, call.number, header.encode()))
    return call


def invalid_path(broker: Broker) -> Call:
    """Open a virtual host that does not exist."""
    connection = broker.tuned()
    connection.send(connection.tune_ok(), Connection.Open("no-such-virtual-host"))
    return Call(connection, 0, Connection.Open())


def resource_locked(broker: Broker) -> Call:
    """Use a queue that is exclusive to another connection."""
    queue = broker.channel().declare_queue(exclusive=True)
    stranger = broker.channel(new_connection=True)
    stranger.send(Queue.Declare(queue, passive=True))
    return Call(stranger.connection, stranger.number, FENCE)


def frame_error(broker: Broker) -> Call:
    """Send a method whose arguments are cut short."""
    call = _on_a_channel(broker)
    call.send_payload(FENCE.encode()[:-1])
    return call


def channel_error(broker: Broker) -> Call:
    """Send a method on a channel that is not open."""
    call = _on_a_channel(broker)
    call.send(number=call.number + UNUSED)
    return call


def unexpected_frame(broker: Broker) -> Call:
    """Send a content header that no method announced."""
    call = _on_a_channel(broker)
    header = ContentHeader(Basic.Publish.spec.class_index, 0, Basic.Properties())
    call.connection.send_frames(Frame(HEADER, call.number, header.encode()))
    return call


def not_allowed(broker: Broker) -> Call:
    """Start a second consumer with the tag of the first."""
    call = _on_a_channel(broker)
    queue = call.channel.declare_queue()
    call.channel.consume(queue, consumer_tag="tag")
    call.send(Basic.Consume(queue, "tag"))
    return call


def not_implemented(broker: Broker) -> Call:
    """Ask for immediate delivery; where that is implemented, send a method that does not exist."""
    call = _on_a_channel(broker)
    call.channel.publish(b"immediate", key=call.channel.declare_queue(), immediate=True)
    call.send(FENCE)
    seen = call.connection.link.coming(call.number, call.connection.context.patience.answer)
    if not isinstance(seen, Basic.Return | Exchange.DeclareOk):
        return call
    call = Call(broker.channel(new_connection=True).connection, 1, FENCE)
    call.connection.send_frames(Frame(METHOD, 1, Basic.Qos.spec.class_index.to_bytes(2) + b"\x07\xd0"))
    return call


PROVOKED: Mapping[str, Callable[[Broker], Call]] = {
    "content-too-large": content_too_large,
    "invalid-path": invalid_path,
    "access-refused": sends(lambda broker: Exchange.Declare(broker.name("exchange", "amq.{}"), "direct")),
    "not-found": sends(lambda broker: Queue.Declare(broker.name("queue"), passive=True)),
    "resource-locked": resource_locked,
    "precondition-failed": sends(lambda _: Basic.Ack(delivery_tag=1)),
    "frame-error": frame_error,
    "syntax-error": sends(lambda broker: Queue.Declare(broker.name("queue"), arguments={"1st": 1})),
    "command-invalid": sends(lambda broker: Exchange.Declare(broker.name("exchange"), "no-such-type")),
    "channel-error": channel_error,
    "unexpected-frame": unexpected_frame,
    "not-allowed": not_allowed,
    "not-implemented": not_implemented,
}
"""What a client does to get each reply code, by the name of the constant."""


def constant(about: Subject) -> Constant:
    return given(about.constant)


def code_of(about: Subject) -> int:
    return constant(about).value


def is_soft(about: Subject) -> bool:
    return constant(about).error_class == "soft-error"


def has_another_code(code: int) -> Callable[[Observation], bool]:
    """Send a Close without the code, or an answer where the server does not mind."""
    return lambda seen: isinstance(seen, Received) and getattr(seen.method, "reply_code", None) != code


def closes_too_much_or_too_little(about: Subject) -> Interposer:
    """Raises the error on the other level."""
    right, wrong = CLOSE if is_soft(about) else reversed(CLOSE)

    def act(_: int, sent: Connection.Close) -> Passed:
        moved = wrong(sent.reply_code, sent.reply_text, sent.class_id, sent.method_id)
        return [method_frame(0, moved)], []

    return Interposer((Rule(right, True, act, lambda close: close.reply_code == constant(about).value),))


def tells_every_channel(turn: Turn) -> None:
    for number in turn.connection.channels:
        turn.connection.send(number, Channel.Close(CONNECTION_FORCED, "a restart"))


@scenario("0-9-1/grammar/constant.connection-forced.level", needs=["restart"], disruptive=True, alone=True)
@broken_by("closes every channel for it", changes(TOLD, tells_every_channel, condition=always, answer=None))
def restart_closes_the_connection(broker: Broker) -> None:
    """With a connection in use the server is restarted: if 320 comes, it is in a Close of the connection.

    That the connection ends without a word is legal, and recorded.
    """
    channel = broker.channel().fence()
    broker.facility("restart")
    another = Outcome("anything without this code", has_another_code(CONNECTION_FORCED)) | AT_ONCE
    told = another.recorded("the server does not say that it is forced")
    channel.expect(connection_closed(CONNECTION_FORCED), told)


OVERTAXED: Mapping[str, tuple[str, str]] = {
    "resource-error": (
        "0-9-1/grammar/constant.content-too-large.level",
        "content header: refuses a content too large",
    ),
    "internal-error": (
        "0-9-1/grammar/basic.publish.content-header-truncated",
        "content header: refuses one badly formatted",
    ),
}
"""Where a server may say that it is overtaxed: a rule that gives the occasion, and the peer's row for it."""


def given_where_a_channel_ends(about: Subject) -> Fault:
    _, row = OVERTAXED[constant(about).name]
    return changes(row, answer=refuse(code_of(about), Level.CHANNEL))


@watches_for(
    of("kept-level"),
    looks_at=lambda _: came(*CLOSE),
    during=lambda about: OVERTAXED[constant(about).name][0],
    never=lambda about: (
        f"no Close of this run has the code {code_of(about)}, and no client can bring it about"
    ),
)
@broken_by("gives it where a channel ends", given_where_a_channel_ends)
def hard_error_ends_no_channel(each: Passage, about: Subject) -> Found:
    """Every Close with the code is one of the connection."""
    if each.said.reply_code != code_of(about):
        return None
    return isinstance(each.said, Connection.Close) or f"{each.said.full_name} at {each.at:.4f} s"


@scenarios_for(of("level", "connection-forced"))
@broken_by("closes the other of the two", closes_too_much_or_too_little)
def reply_code_comes_at_the_level_of_its_class(broker: Broker, about: Subject) -> None:
    """What fits the code is done: where a Close comes with this code, it is the one of its class.

    With another code, or without an error at all, there is nothing to judge; that is recorded.
    """
    code = constant(about).value
    right = channel_closed(code) if is_soft(about) else connection_closed(code)
    another = Outcome("anything without this code", has_another_code(code)) | AT_ONCE | silence()
    PROVOKED[constant(about).name](broker).expect(right, another.recorded("the server uses another code"))
