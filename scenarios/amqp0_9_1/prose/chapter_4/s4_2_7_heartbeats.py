"""4.2.7: heartbeats, what they look like, when they are sent and what their absence means."""

from harness.amqp0_9_1.broken.content_faults import (
    BEAT,
    TAKEN,
    amid_a_frame,
    end_at_once,
    gives_up_when,
    is_heartbeat,
)
from harness.amqp0_9_1.broken.deviations import changes, drops, mends, objects, spoils, swallows
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.outcomes import Silence, closed_silently, connection_closed, silence
from harness.amqp0_9_1.client.pulse import Pulse, beating
from harness.amqp0_9_1.client.transcript import Framed
from harness.amqp0_9_1.peer.events import ConnectionState
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.frames import BODY, HEADER, HEARTBEAT, ContentHeader, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    CONNECTION_FORCED,
    FRAME_ERROR,
    SYNTAX_ERROR,
    Basic,
    Channel,
    Connection,
    Exchange,
)
from harness.play.watching import Found, came
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_3_frames import OF_NO_FORM
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

REFUSES = "heartbeat: refuses one with a payload"
DROPS_THE_SILENT = "heartbeat: two intervals of silence end the connection"
ONLY_WHEN_OPEN = changes(BEAT, state=ConnectionState.OPEN)
PROPOSES_NONE = "the server proposes no heartbeats, and has none"


@watch(
    "0-9-1/prose/4.2.7.own-heartbeats-on-zero",
    during="0-9-1/prose/4.2.7.heartbeats-at-intervals",
    looks_at=came(HEARTBEAT),
    of_clients="0-9-1/prose/4.2.7.client-sends-heartbeats",
)
@broken_by("sends them on channel 1", mends(is_heartbeat, lambda _: Frame(HEARTBEAT, 1, b"")), Role.CLIENT)
@broken_by("sends them on channel 1", spoils(is_heartbeat, lambda _: Frame(HEARTBEAT, 1, b"")))
def heartbeats_are_on_channel_zero(each: Framed) -> Found:
    """Every heartbeat is on channel 0."""
    return not each.unit.channel or f"on channel {each.unit.channel} at {each.at:.4f} s"


@scenario("0-9-1/prose/4.2.7.invalid-heartbeat-refused", slow=True)
@broken_by("does not see it", swallows(lambda frame: is_heartbeat(frame) and bool(frame.payload)))
@broken_by("passes it over", drops(REFUSES))
@broken_by("gives another code", changes(REFUSES, answer=refuse(SYNTAX_ERROR)))
def heartbeat_with_a_payload_is_refused(broker: Broker) -> None:
    """With heartbeats agreed upon one is taken without a word; one with an octet in it ends the connection.

    With 501.
    """
    channel = beating(broker).channel()
    channel.connection.heartbeat()
    channel.fence()
    channel.connection.send_frames(Frame(HEARTBEAT, 0, b"\x00"))
    channel.expect(connection_closed(FRAME_ERROR), OF_NO_FORM)


TEXT = b"around a heartbeat"


@scenario("0-9-1/prose/4.2.7.heartbeat-discarded-without-agreement", slow=True)
@broken_by("complains", objects(is_heartbeat, FRAME_ERROR))
@broken_by("complains before it is open", drops(TAKEN))
def heartbeat_without_agreement_is_discarded(broker: Broker) -> None:
    """Where none were agreed upon, heartbeats before Open, amid a content and between methods do no harm."""
    connection = broker.tuned()
    connection.send(connection.tune_ok(heartbeat=0))
    connection.heartbeat()
    connection.tries(Connection.Open(connection.endpoint.virtual_host), Connection.OpenOk)
    channel = connection.channel()
    queue = channel.declare_queue()
    header = ContentHeader(Basic.Publish.spec.class_index, len(TEXT), Basic.Properties())
    connection.send_frames(
        method_frame(channel.number, Basic.Publish("", queue)),
        Frame(HEARTBEAT, 0, b""),
        Frame(HEADER, channel.number, header.encode()),
        Frame(HEARTBEAT, 0, b""),
        Frame(BODY, channel.number, TEXT),
    )
    channel.gets(queue, TEXT)
    connection.heartbeat()
    channel.stays_quiet()


@scenario("0-9-1/prose/4.2.7.server-sends-heartbeats", slow=True)
@broken_by("sends none", drops(BEAT, DROPS_THE_SILENT))
@broken_by("waits for Open", changes(BEAT, state=ConnectionState.OPEN))
def heartbeats_begin_with_tune_ok(broker: Broker) -> None:
    """After Tune-Ok, and before any Open, the server sends its first heartbeat within two intervals.

    Ending the connection, as we are silent, shows that it watches for ours.
    """
    broker.tuned()
    pulse = Pulse(broker, opened=False)
    pulse.passes(2)
    if not pulse.offered and pulse.ended:
        broker.inapplicable("the server proposes no heartbeats, and refuses them")
    pulse.passes(0 if pulse.heartbeats else 1)
    watches = "4.2.7: a silent peer is given up" if pulse.ended else ""
    broker.judge("a heartbeat after Tune-Ok", "no heartbeat", bool(pulse.heartbeats), watches)


@scenario("0-9-1/prose/4.2.7.heartbeats-at-intervals", slow=True)
@broken_by("sends none", drops(BEAT))
@broken_by("gives up at once", changes(BEAT, end_at_once))
def heartbeats_come_at_intervals(broker: Broker) -> None:
    """While ours go on, at least two heartbeats come in four intervals, and never two without an octet."""
    pulse = Pulse(broker)
    pulse.passes(4, pulse.connection.heartbeat)
    if not pulse.offered and not pulse.heartbeats:
        broker.inapplicable(PROPOSES_NONE)
    longest = pulse.longest_silence()
    broker.judge("an open connection", "the connection was ended", not pulse.ended)
    broker.judge("two heartbeats in four intervals", "fewer heartbeats", pulse.heartbeats >= 2)
    broker.judge("no two intervals of silence", "two intervals of silence", longest < 2)
    late = "4.2.7: the effort is a best one"
    broker.judge("a sign of life at every interval", "one interval without", longest <= MUCH_OF_TWO, late)


MUCH_OF_TWO = 1.5
"""Intervals: who sends once in each is a little late when the way is long or the machine busy."""


@scenario("0-9-1/prose/4.2.7.any-octet-counts", slow=True)
@broken_by("counts heartbeats alone", gives_up_when(lambda _: True))
@broken_by("counts whole frames alone", gives_up_when(amid_a_frame))
def any_octet_is_a_sign_of_life(broker: Broker) -> None:
    """Without any heartbeat of ours the connection lives for two intervals on methods, then on octets.

    The octets are of a single frame, which is answered when it is whole.
    """
    pulse = Pulse(broker)
    channel = pulse.connection.channel().misses("queue")
    pulse.passes(2, channel.stays_quiet)
    octets = method_frame(channel.number, FENCE).encode()
    pieces = iter([octets[at : at + 1] for at in range(len(octets) - 1)])
    pulse.passes(3, lambda: pulse.connection.send_octets(next(pieces)))
    pulse.connection.send_octets(b"".join(pieces) + octets[-1:])
    channel.expect(Exchange.DeclareOk)


@scenario("0-9-1/prose/4.2.7.silent-peer-dropped", slow=True)
@broken_by("does not mind", drops(DROPS_THE_SILENT))
@broken_by(
    "says Close first", changes(DROPS_THE_SILENT, answer=refuse(CONNECTION_FORCED), effects=(), next=None)
)
@broken_by("is impatient", changes(BEAT, end_at_once))
def silent_peer_is_dropped(broker: Broker) -> None:
    """When we are silent the server closes the socket without Close, and not before two intervals."""
    pulse = Pulse(broker)
    handshake = connection_closed().under("2.3.7: an open connection is closed by a hand-shake")
    never = () if pulse.offered else (silence(),)
    if isinstance(pulse.connection.expect(closed_silently(), handshake, *never), Silence):
        broker.inapplicable(PROPOSES_NONE)
    broker.judge("the end after two intervals of silence", "an earlier end", pulse.since_we_spoke >= 2)


@scenario("0-9-1/prose/4.2.7.heartbeats-until-the-end", slow=True)
@broken_by("stops with Close", ONLY_WHEN_OPEN)
def heartbeats_go_on_while_closing(broker: Broker) -> None:
    """Its Close is not answered for three intervals: its heartbeats go on, or the socket is closed."""
    pulse = Pulse(broker)
    pulse.connection.channel().send(Channel.Open())
    pulse.connection.control("a second channel.open", Connection.Close)
    since = pulse.now
    pulse.passes(3, pulse.connection.heartbeat)
    if not pulse.offered and not pulse.heartbeats:
        broker.inapplicable(PROPOSES_NONE)
    silent = pulse.longest_silence(since)
    broker.judge("heartbeats until the end", "two intervals of silence", pulse.ended or silent < 2)
