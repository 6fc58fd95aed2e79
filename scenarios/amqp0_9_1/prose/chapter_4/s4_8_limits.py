"""4.8 to 4.10: reply codes, limits, and what a server does against invalid data."""

from collections.abc import Iterator

from harness.amqp0_9_1.broken.deviations import changes, ignores, mends, rewrites, spoils, swallows
from harness.amqp0_9_1.broken.faults import close_after_a_pause, number_is_the_limit
from harness.amqp0_9_1.broken.frame_faults import sent_on, unreadable
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    answered,
    closed_silently,
    connection_closed,
    on_its_channel,
    silence,
)
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.peer.refusals import close_in_silence
from harness.amqp0_9_1.wire.field_tables import encode_table
from harness.amqp0_9_1.wire.frames import BODY, HEADER, METHOD, ContentHeader, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    FRAME_ERROR,
    SYNTAX_ERROR,
    Basic,
    Channel,
    Connection,
    Exchange,
    Queue,
)
from harness.play.watching import Found, came
from scenarios.amqp0_9_1.grammar.calls import AT_ONCE
from scenarios.amqp0_9_1.prose.chapters_1_2.s2_2_4_connection import tries_to_log_in
from scenarios.registry import broken_by, scenario, watch

FIRST_DIGITS, SECOND_DIGITS = "2345", "012345"


@watch(
    "0-9-1/prose/4.8.2.reply-code-severity",
    during="0-9-1/channel.open.state",
    looks_at=came(Channel.Close, Connection.Close, Basic.Return),
)
@broken_by("has codes of a grade of their own", rewrites(Connection.Close, reply_code=604))
@broken_by("has codes of a group of their own", rewrites(Connection.Close, reply_code=564))
@broken_by("has codes of two digits", rewrites(Connection.Close, reply_code=54))
def reply_codes_tell_how_grave_it_is(each: Passage) -> Found:
    """Every code of a Close or Return has three digits, the first from 2 to 5 and the second from 0 to 5."""
    code = str(each.said.reply_code)
    held = len(code) == 3 and code[0] in FIRST_DIGITS and code[1] in SECOND_DIGITS
    return held or f"{each.said.full_name} {code} at {each.at:.4f} s"


HUGE = (1 << 64) - 1
"""The largest content: its size is an unsigned number of 64 bits (4.9, 4.2.5.1)."""
TOO_LARGE = "content header: refuses a content too large"


@scenario("0-9-1/prose/4.9.huge-content-announced", slow=True)
@broken_by("serves nobody afterwards", ignores(Exchange.Declare))
@broken_by("closes without a word", changes(TOO_LARGE, close_in_silence, answer=None))
def huge_content_harms_nobody(broker: Broker) -> None:
    """A header announces the most that 64 bits hold: the server waits or refuses, and it serves others.

    By which code a limit is told is not specified; to close without a word is a miss.
    """
    witness, channel = broker.channel(), broker.channel(new_connection=True)
    witness.misses("queue")
    channel.send(Basic.Publish("", channel.declare_queue()))
    header = ContentHeader(Basic.Publish.spec.class_index, HUGE, Basic.Properties())
    frames = Frame(HEADER, channel.number, header.encode()), Frame(BODY, channel.number, b"a beginning")
    channel.connection.send_frames(*frames)
    channel.expect(silence(), EXCEPTION.recorded("4.9: a server may have limits of its own, not specified"))
    channel.connection.drop()
    witness.stays_quiet()


@scenario("0-9-1/prose/4.9.highest-channel-number")
@broken_by(
    "stops one below", changes("channel.open: refuses more than agreed", condition=number_is_the_limit)
)
@broken_by(
    "answers with eight bits",
    spoils(sent_on(Channel.OpenOk, bool), lambda it: Frame(it.type, it.channel & 0x7F, it.payload)),
)
def highest_channel_can_be_opened(broker: Broker) -> None:
    """The channel with the highest number proposed, 65535 without a limit, is opened and answers."""
    broker.channel().misses("queue")
    connection = broker.connection()
    broker.keeps_to_its_channels()
    highest = connection.unopened(connection.tune.channel_max or 0xFFFF)
    highest.tries(Channel.Open(), on_its_channel(answered(Channel.OpenOk)))
    highest.stays_quiet()


# -- security ------------------------------------------------------------------------------------------

ARGUMENTS = {"note": "conformance"}


def spoilt(bind: Queue.Bind) -> Iterator[bytes]:
    """Give the method with lengths that lie: of its table by one, by all, and of the name before it."""
    payload = bind.encode()
    table = payload.index(encode_table(ARGUMENTS))
    length = int.from_bytes(payload[table : table + 4])
    for lie in (length + 1, 0xFFFFFFFF):
        yield payload[:table] + lie.to_bytes(4) + payload[table + 4 :]
    name = payload.index(bytes((len(bind.queue),)) + bind.queue.encode())
    yield payload[:name] + b"\xff" + payload[name + 1 :]


@scenario("0-9-1/prose/4.10.1.invalid-data-closes")
@broken_by("does not notice them", swallows(unreadable(Queue.Bind)))
@broken_by(
    "makes up what is missing",
    mends(unreadable(Queue.Bind), lambda it: method_frame(it.channel, Queue.Declare())),
)
def lengths_beyond_the_frame_end_something(broker: Broker) -> None:
    """A Bind whose table or name claims more octets than there are ends its connection, or its channel."""
    witness = broker.channel()
    bind = Queue.Bind(witness.declare_queue(), "amq.direct", "key", arguments=ARGUMENTS)
    lies = {broker.channel(new_connection=True): payload for payload in spoilt(bind)}
    for channel in lies:
        channel.ask(bind)
    for channel, payload in lies.items():
        channel.connection.send_frames(Frame(METHOD, channel.number, payload))
        other = (EXCEPTION | AT_ONCE).under("4.10.1 names no code")
        channel.expect(connection_closed(FRAME_ERROR, SYNTAX_ERROR), other)
    witness.stays_quiet()


AT_LEAST = 0.5
"""Seconds: an end that takes longer comes after a pause."""


@scenario("0-9-1/prose/4.10.2.refusal-after-a-pause", slow=True)
@broken_by("pauses", changes("connection.start-ok: bad credentials end in silence", close_after_a_pause))
def pause_before_a_refusal_is_recorded(broker: Broker) -> None:
    """Whether a wrong password ends the connection at once or after a pause."""
    broker.tuned()
    guesser = broker.socket(user=broker.endpoint.user, password=f"not {broker.endpoint.password}")
    guesser.begin()
    began = guesser.link.now()
    tries_to_log_in(guesser, (closed_silently() | connection_closed()).recorded())
    paused = guesser.link.now() - began > AT_LEAST
    broker.note("the end comes after a pause" if paused else "the end comes at once")
