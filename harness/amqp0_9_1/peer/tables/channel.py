"""The channel: opening, flow, closing, and the frames of a content in their order (4.2.6)."""

from harness.amqp0_9_1.peer.deliveries import stir_queues_of
from harness.amqp0_9_1.peer.entities import Message, Publication
from harness.amqp0_9_1.peer.events import (
    BodyReceived,
    ChannelState,
    ContentComplete,
    ContentHeaderReceived,
    IllegalFieldName,
    Undecodable,
    UnknownMethod,
)
from harness.amqp0_9_1.peer.life import end_channel
from harness.amqp0_9_1.peer.refusals import refuse, refuse_by
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, Reply, meet_on_channel
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import CHANNEL_ERROR, COMMAND_INVALID, UNEXPECTED_FRAME, Basic, Channel
from harness.peers.events import Event
from harness.peers.rows import answering

UNOPENED = ChannelState.UNOPENED
OPEN = ChannelState.OPEN
EXPECT_CONTENT_HEADER = ChannelState.EXPECT_CONTENT_HEADER
EXPECT_BODY = ChannelState.EXPECT_BODY
CLOSING = ChannelState.CLOSING
RECEIVING = (EXPECT_CONTENT_HEADER, EXPECT_BODY)


def is_beyond_channel_max(turn: ChannelTurn[Channel.Open]) -> bool:
    """Say whether the channel's number, or how many there are, is higher than agreed (prose/2.3.3)."""
    connection = turn.connection
    used = len(connection.channels) + 1 if turn.policy.channel_max_is == "count" else turn.channel.number
    return bool(connection.channel_max) and used > connection.channel_max


def was_meant_to_open(turn: ChannelTurn[Undecodable]) -> bool:
    """Say whether the unreadable method is Open: no other has any business on a closed channel."""
    return turn.event.method is Channel.Open


open_ok = answering(Channel.OpenOk())
close_ok = answering(Channel.CloseOk())


def set_flow(turn: ChannelTurn[Channel.Flow]) -> None:
    """Stop or start deliveries on this channel; Get is not affected."""
    turn.channel.flowing = turn.event.active
    stir_queues_of(turn.channel)


def flow_ok(turn: ChannelTurn[Channel.Flow]) -> Reply:
    """Answer with Channel.Flow-Ok and the setting that now holds."""
    return Channel.FlowOk(turn.event.active)


def flow_was_asked_for(turn: ChannelTurn[Channel.FlowOk]) -> bool:
    return bool(turn.channel.flow_asked)


def count_flow_ok(turn: ChannelTurn[Channel.FlowOk]) -> None:
    turn.channel.flow_asked -= 1


def is_of_another_class(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    """Say whether the class in the content header is not the method's (4.2.6.1)."""
    assert turn.channel.publishing is not None
    return turn.event.class_index != turn.channel.publishing.spec.class_index


def is_badly_formatted(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    """Say whether the weight is not zero, or flags and properties cannot be read."""
    return bool(turn.event.weight) or turn.event.properties is None


def has_illegal_field_names(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    """Say whether a name in the headers table is outside the syntax of 4.2.5.5."""
    return not turn.event.legal_names


def is_too_large(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    """Say whether a content is larger than this peer accepts, alone or with what it holds already."""
    limits, store = turn.peer.limits, turn.peer.store
    return turn.event.size > limits.content or turn.event.size + store.octets > store.limit


def has_no_body(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    return turn.event.size == 0


def is_longer_than_announced(turn: ChannelTurn[BodyReceived]) -> bool:
    return _missing(turn) < 0


def is_the_last(turn: ChannelTurn[BodyReceived]) -> bool:
    return _missing(turn) == 0


def _missing(turn: ChannelTurn[BodyReceived]) -> int:
    """Count the octets of the body that are missing behind this frame; below zero if it has too many."""
    content = turn.channel.content
    assert content is not None
    return content.size - len(turn.channel.body) - len(turn.event.octets)


def begin_content(turn: ChannelTurn[ContentHeaderReceived]) -> None:
    turn.channel.content = turn.event


def add_to_body(turn: ChannelTurn[BodyReceived]) -> None:
    turn.channel.body += turn.event.octets


def content_is_complete(turn: ChannelTurn[object]) -> None:
    """Make a message of method, header and body, and let the rows for it decide."""
    channel = turn.channel
    method, header, body = channel.publishing, channel.content, bytes(channel.body)
    channel.forget_content()
    assert method is not None
    assert header is not None
    assert isinstance(header.properties, Basic.Properties)
    message = Message(
        turn.peer.store,
        turn.connection,
        method.exchange,
        method.routing_key,
        header.payload,
        header.properties,
        body,
    )
    turn.peer.meet(Publication, turn.about(ContentComplete(), Publication(method, message, channel)))


def content_may_be_aborted(turn: ChannelTurn[Method]) -> bool:
    """Say whether the policy ends a content at a method (0-9-1/prose/4.2.6.interrupted-content)."""
    return turn.policy.content_interrupted == "abort"


def abort_content_and_serve(turn: ChannelTurn[Method]) -> None:
    turn.channel.forget_content()
    turn.channel.state = OPEN
    meet_on_channel(turn)


_open = Row("channel.open", UNOPENED, Channel.Open)
_OPENING = (
    _open(
        "refuses more than agreed",
        is_beyond_channel_max,
        answer=refuse_by(lambda policy: policy.beyond_channel_max),
    ),
    _open("is answered", answer=open_ok, next=OPEN),
    Row(
        "channel.open: refuses arguments that cannot be read",
        UNOPENED,
        Undecodable,
        was_meant_to_open,
        answer=refuse_by(lambda policy: policy.undecodable),
    ),
    Row("channel.open: refuses a channel already open", OPEN, Channel.Open, answer=refuse(CHANNEL_ERROR)),
    Row(
        "channel: refuses anything on a channel not open",
        UNOPENED,
        (Method, Event),
        answer=refuse(CHANNEL_ERROR),
    ),
)
_CLOSING = (
    Row(
        "channel.close: is answered",
        (OPEN, *RECEIVING),
        Channel.Close,
        effects=(end_channel,),
        answer=close_ok,
        next=UNOPENED,
    ),
    Row("channel.close: crossing ours is answered", CLOSING, Channel.Close, answer=close_ok),
    Row("channel.close-ok: frees the channel", CLOSING, Channel.CloseOk, next=UNOPENED),
    Row("channel: closing hears only Close and Close-Ok", CLOSING, (Method, Event)),
)
_UNREADABLE = (
    Row(
        "method: refuses one of no class and index on a channel",
        (OPEN, *RECEIVING),
        UnknownMethod,
        answer=refuse_by(lambda policy: policy.unknown_method),
    ),
    Row(
        "method: refuses arguments that cannot be read",
        (OPEN, *RECEIVING),
        Undecodable,
        answer=refuse_by(lambda policy: policy.undecodable),
    ),
    Row(
        "method: refuses illegal field names",
        (OPEN, *RECEIVING),
        IllegalFieldName,
        answer=refuse_by(lambda policy: policy.illegal_field_name),
    ),
)
_content_header = Row("content header", EXPECT_CONTENT_HEADER, ContentHeaderReceived)
_content_body = Row("content body", EXPECT_BODY, BodyReceived)
_CONTENT = (
    _content_header(
        "refuses another class",
        is_of_another_class,
        answer=refuse_by(lambda policy: policy.bad_content_header),
    ),
    _content_header(
        "refuses one badly formatted",
        is_badly_formatted,
        answer=refuse_by(lambda policy: policy.bad_content_header),
    ),
    _content_header(
        "refuses illegal field names",
        has_illegal_field_names,
        answer=refuse_by(lambda policy: policy.illegal_field_name),
    ),
    _content_header(
        "refuses a content too large", is_too_large, answer=refuse_by(lambda policy: policy.content_too_large)
    ),
    _content_header(
        "without body completes the content", has_no_body, (begin_content, content_is_complete), next=OPEN
    ),
    _content_header("body frames follow", effects=(begin_content,), next=EXPECT_BODY),
    _content_body("refuses more than announced", is_longer_than_announced, answer=refuse(UNEXPECTED_FRAME)),
    _content_body(
        "the last frame completes the content", is_the_last, (add_to_body, content_is_complete), next=OPEN
    ),
    _content_body("is kept", effects=(add_to_body,)),
    Row(
        "content: refuses a frame out of sequence",
        (OPEN, *RECEIVING),
        (ContentHeaderReceived, BodyReceived),
        answer=refuse(UNEXPECTED_FRAME),
    ),
    Row("content: a method ends it", RECEIVING, Method, content_may_be_aborted, (abort_content_and_serve,)),
    Row("content: refuses a method before its end", RECEIVING, Method, answer=refuse(UNEXPECTED_FRAME)),
)
_FLOW = (
    Row("channel.flow: stops or starts deliveries", OPEN, Channel.Flow, effects=(set_flow,), answer=flow_ok),
    Row("channel.flow-ok: answers ours", OPEN, Channel.FlowOk, flow_was_asked_for, (count_flow_ok,)),
)
CHANNEL = (*_OPENING, *_CLOSING, *_UNREADABLE, *_CONTENT, *_FLOW)
OTHERWISE = (
    Row("method: refuses one that clients do not send", OPEN, Method, answer=refuse(COMMAND_INVALID)),
)
"""Behind the rows of all classes: what is left is a method of the server's, or an answer nobody awaits."""
