"""2.8.15 Amqp Error: the conditions that fit what cannot be decoded, invalid fields, illegal states."""

from harness.amqp1_0.broken.deviations import changes, drops, ends_stream, ignores_frames, is_unread, rewrites
from harness.amqp1_0.broken.loose import Turn
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, begun, refused
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.peer.refusals import our_begin, refuse
from harness.amqp1_0.peer.traffic import map_session
from harness.amqp1_0.peer.turn import Reply
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, Frame, amqp_frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close
from harness.amqp1_0.wire.types import As, Described, Raw
from scenarios.registry import broken_by, scenario


def cut_short() -> Frame:
    """Give a begin whose list ends in the middle of its last value; sizes and count are as they should be."""
    begin = the_begin()
    content = b"".join(map(encode, begin.elements()))
    elements = As(0xC0, content[:-2], None, len(begin.elements()))
    return Frame(AMQP, 0, encode(Described(begin.descriptor, elements)))


def of_no_type() -> Frame:
    """Give a begin whose incoming-window has a constructor that no type has."""
    return amqp_frame(0, the_begin(incoming_window=Raw(b"\x5f\0")))


UNDECODABLE = "frame: refuses a body that cannot be decoded"


@scenario("1-0/2.8.15.decode-error")
@broken_by("passes over it", drops(UNDECODABLE))
@broken_by("does not hear it", ignores_frames(is_unread))
@broken_by("gives another condition", changes(UNDECODABLE, answer=refuse(AmqpError.NOT_FOUND)))
@broken_by("gives no reason", rewrites(Close, error=None))
@broken_by("ends the stream without a close", ends_stream(Close))
def what_cannot_be_decoded_is_a_decode_error(container: Container) -> None:
    """A list that ends within its last value, and an unknown constructor, are answered by decode-error."""
    container.connection().fence()
    for undecodable in (cut_short(), of_no_type()):
        container.connection().gives_up_on(undecodable, *refused(Refusal.CONDITION, AmqpError.DECODE_ERROR))


INVALID = "session: refuses an invalid field"


def begins_all_the_same(turn: Turn) -> Reply:
    """Send the begin that would answer a valid one."""
    map_session(turn.peer, turn.session)
    return (our_begin(turn.session, turn.policy),)


@scenario("1-0/2.8.15.invalid-field", slow=True)
@broken_by("begins all the same", changes(INVALID, answer=begins_all_the_same))
@broken_by("gives another condition", changes(INVALID, answer=refuse(AmqpError.NOT_FOUND)))
@broken_by("says nothing at all", drops(INVALID))
@broken_by("gives no reason", rewrites(Close, error=None))
@broken_by("ends the stream without a close", ends_stream(Close))
def invalid_field_is_called_so(container: Container) -> None:
    """A begin whose incoming-window is a string ends the session or the connection by invalid-field.

    Who reads fields by their types cannot decode it: decode-error fits as well. What is not mapped cannot be
    ended: a server may have to answer by a begin before its end.
    """
    connection = container.connection().fence()
    fitting = refused(Refusal.SESSION, AmqpError.INVALID_FIELD, AmqpError.DECODE_ERROR)
    connection.send(the_begin(incoming_window=As(0xA1, "many")))
    # A server that ends without a close may let some seconds pass before.
    patience = container.context.patience.close
    if isinstance(connection.within(patience, *fitting, begun(0)), Begin):
        connection.within(patience, *fitting)


PREMATURE = "frame: refuses one before the open"


@scenario("1-0/2.8.15.illegal-state", slow=True)
@broken_by("says nothing at all", drops(PREMATURE))
@broken_by("gives another condition", changes(PREMATURE, answer=refuse(AmqpError.NOT_FOUND)))
@broken_by("begins all the same", changes(PREMATURE, answer=lambda _: (Begin(0, 0, 1, 1),)))
@broken_by("gives no reason", rewrites(Close, error=None))
def frame_before_the_open_is_an_illegal_state(container: Container) -> None:
    """A begin as the first frame is answered by open and close, with illegal-state."""
    container.connection().fence()
    hasty = container.negotiated()
    hasty.turns_down(the_begin(), *refused(Refusal.CONDITION_OPENING, AmqpError.ILLEGAL_STATE))
