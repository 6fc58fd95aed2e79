"""2.3.5: what method frames and contents consist of, and where a method is allowed."""

from dataclasses import dataclass, field

from harness.amqp0_9_1.broken.deviations import changes, ignores, replaces, spoils
from harness.amqp0_9_1.broken.frame_faults import (
    START,
    TUNE,
    before_it,
    sent_on,
    with_more,
    with_properties,
    without_its_last,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.outcomes import connection_closed
from harness.amqp0_9_1.client.transcript import READ, UNREAD, Framed
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.field_tables import longstr, shortstr
from harness.amqp0_9_1.wire.frames import BODY, HEADER, METHOD, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    CODEC,
    COMMAND_INVALID,
    GRAMMAR,
    Basic,
    Channel,
    Connection,
    Queue,
)
from harness.play.watching import Found, Gaps, Unsure, came, went
from harness.wire.journal import RECEIVED, SENT, Direction
from scenarios.amqp0_9_1.prose.chapters_1_2.s1_4_terms import asked_for_ours
from scenarios.registry import broken_by, scenario, watch

OF_SERVERS = "method: refuses one that clients do not send"
HARD = tuple(each.value for each in GRAMMAR.constants if each.error_class == "hard-error")
OPEN_OK = sent_on(Channel.OpenOk, bool)
UNKNOWN = Frame(METHOD, 0, b"\x00\x0a\x00\x63")
"""A method that the class connection does not have."""
EXTENSION = Frame(METHOD, 1, b"\x00\x46\x00\x0b")
"""A method of a class that neither this version has nor what adds to it."""


class Asked(Unsure):
    """The classes that we have used, with the channels; unknown where something was not captured."""

    def __init__(self) -> None:
        self.classes: set[tuple[int, int]] = set()


@watch(
    "0-9-1/prose/2.3.5.1.one-command-per-frame",
    during="0-9-1/channel.open.state",
    looks_at=came(UNREAD) + went(METHOD),
    counts=came(READ),
    needs=came(UNREAD),
    where=asked_for_ours,
    start=Asked,
    gap=Gaps.TOLD,
)
@broken_by("adds an octet", spoils(OPEN_OK, lambda it: Frame(METHOD, it.channel, it.payload + b"\x00")))
@broken_by("sends two in a frame", spoils(OPEN_OK, lambda it: Frame(METHOD, it.channel, it.payload * 2)))
@broken_by("leaves arguments out", spoils(OPEN_OK, lambda it: Frame(METHOD, it.channel, it.payload[:4])))
@broken_by("has methods of its own", replaces(Channel.OpenOk, EXTENSION.encode()))
@broken_by("starts without locales", spoils(START, without_its_last(len(longstr("en_US")))))
@broken_by("starts and says more", spoils(START, with_more(b"\x00")))
@broken_by("starts with text for its properties", spoils(START, with_properties(shortstr("a broker"))))
@broken_by("tunes without a heartbeat", spoils(TUNE, without_its_last(2)))
@broken_by("says what nobody knows before Tune", spoils(TUNE, before_it(UNKNOWN.encode())))
def method_frame_holds_one_method(asked: Asked, each: Framed) -> Found:
    """Every method frame the server sends holds a method of this version, all of its arguments, no more.

    Methods of classes from F000 on are not counted, nor those of a class that this version does not have
    when we have sent a method of it on the same channel before.
    """
    frame = each.unit
    of = frame.channel, int.from_bytes(frame.payload[:2])
    if each.direction is SENT:
        asked.classes.add(of)
        return None
    if is_extension(frame) and (asked.unsure or is_free(of, asked.classes)):
        return None
    return f"a frame that begins {frame.payload[:4].hex()} at {each.at:.4f} s"


CLASSES = frozenset(each.index for each in GRAMMAR.classes)
FIRST_OF_EXTENSIONS = 0xF000
"""From this class on implementations may have their own (4.2.4)."""


def is_extension(frame: Frame) -> bool:
    """Say whether the frame names a method of a class that this version does not have."""
    return len(frame.payload) >= 4 and int.from_bytes(frame.payload[:2]) not in CLASSES


def is_free(of: tuple[int, int], asked: set[tuple[int, int]]) -> bool:
    """Say whether a class may be used on a channel: it is an implementation's own, or we asked for it."""
    return of[1] >= FIRST_OF_EXTENSIONS or of in asked


@scenario("0-9-1/prose/2.3.5.1.method-out-of-context-refused")
@broken_by("passes over Declare-Ok", ignores(Queue.DeclareOk))
@broken_by("passes over Consume-Ok", ignores(Basic.ConsumeOk))
@broken_by("passes over Deliver", ignores(Basic.Deliver))
@broken_by("closes only the channel", changes(OF_SERVERS, answer=refuse(COMMAND_INVALID, Level.CHANNEL)))
def what_only_servers_send_is_refused(broker: Broker) -> None:
    """Declare-Ok, Consume-Ok and Deliver from a client end the connection; what follows has no answer."""
    broker.channel().fence()
    for method in (Queue.DeclareOk("queue"), Basic.ConsumeOk("tag"), Basic.Deliver("tag", 1)):
        channel = broker.channel(new_connection=True)
        content = (Basic.Properties(), b"content") if method.spec.content else ()
        channel.connection.link.send(channel.number, method, *content)
        channel.send(FENCE)
        other = connection_closed(*HARD).under("2.3.5.1 names no code")
        channel.expect(connection_closed(COMMAND_INVALID), other)


ENDS = (Channel.Close, Channel.CloseOk, Connection.Close, Connection.CloseOk)
NO_CONTENT = "no method", 0
CARRY_CONTENT = [each for each in CODEC.methods.values() if each.spec.content]


@dataclass
class OnTheirWay(Unsure):
    """The contents of a connection that are on their way, by channel: how much is missing, None if all is.

    Behind a gap the contents are unknown on every channel where no method has come since: `known` ones.
    """

    missing: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    may_be_cut: set[int] = field(default_factory=set)
    known: set[int] | None = None

    def missed(self, way: Direction) -> None:
        """Note that what we have rejected is unknown, or what the contents are."""
        super().missed(way)
        if way is RECEIVED:
            self.missing.clear()
            self.known = set()

    def take(self, channel: int, method: Method | None) -> str | None:
        """Begin the content of a method; give what is wrong with the one before it."""
        begun = self.missing.pop(channel, None)
        if self.known is not None:
            self.known.add(channel)
        if method is not None and method.spec.content:
            self.missing[channel] = method.full_name, None
        if begun is None or self.unsure or isinstance(method, ENDS) or channel in self.may_be_cut:
            return None
        return f"the content of {begun[0]} is cut off"


@watch(
    "0-9-1/prose/2.3.5.2.content-follows-its-method",
    during="0-9-1/prose/2.2.1.replies-found-among-notices",
    looks_at=came(METHOD, HEADER, BODY) + went(Basic.Reject),
    needs=came(HEADER, BODY, *CARRY_CONTENT),
    start=OnTheirWay,
    gap=Gaps.TOLD,
)
@broken_by("leaves out the header", spoils(lambda frame: frame.type == HEADER, lambda _: b""))
@broken_by("leaves out the body", spoils(lambda frame: frame.type == BODY, lambda _: b""))
@broken_by(
    "sends more than it announced",
    spoils(lambda it: it.type == BODY, lambda it: Frame(BODY, it.channel, it.payload + b"more")),
)
def content_comes_whole_behind_its_method(contents: OnTheirWay, each: Framed) -> Found:
    """Behind each Deliver, Return and Get-Ok come, on its channel, its header and all of its body.

    What the end of a channel or connection cuts off is not counted, nor what the server breaks off for a
    message that we have rejected.
    """
    frame = each.unit
    channel, kind = frame.channel, frame.type
    if kind == METHOD:
        if each.direction is SENT:
            contents.may_be_cut.add(channel)
            return None
        cut_off = contents.take(channel, each.said)
        return f"{cut_off} at {each.at:.4f} s" if cut_off else None
    name, left = contents.missing.pop(channel, NO_CONTENT)
    if kind == HEADER and left is None:
        left = int.from_bytes(frame.payload[4:12])
    elif kind == BODY and left and len(frame.payload) <= left:
        left -= len(frame.payload)
    elif contents.known is not None and channel not in contents.known:
        return None
    else:
        return f"a frame of type {kind} out of place behind {name} at {each.at:.4f} s"
    if not left:
        return True
    contents.missing[channel] = name, left
    return None
