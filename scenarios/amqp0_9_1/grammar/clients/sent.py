"""Methods and contents that a client sends: whole, on the right channel, each where it has its place.

A run against a server judges what the server makes of the same faults (`malformed`).
"""

from collections.abc import Callable

from harness.amqp0_9_1.broken.content_faults import is_body, is_header
from harness.amqp0_9_1.broken.deviations import Interposer, adds, mends
from harness.amqp0_9_1.broken.frame_faults import on_channel, sent_on, with_more, without_its_last
from harness.amqp0_9_1.client.transcript import UNREAD, Contents, Framed, Passage, is_known, unreadable
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import BODY, HEADER, METHOD, Frame, RawFrame, method_frame
from harness.amqp0_9_1.wire.vocabulary import GRAMMAR, Basic, Channel, Queue
from harness.play.watching import Found, Gaps, Pattern, State, came
from harness.wire.journal import Direction
from harness.wire.units import Garbage
from scenarios.amqp0_9_1.grammar.calls import UNUSED, given, kind, of_clients
from scenarios.amqp0_9_1.grammar.malformed import NO_METHOD, overlong
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, watches_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.rules import Role

NEVER = "the client sent none, asked for what brings it"
"""What it means that a client never sends a method: its shim was told to have it do so."""
PROVOKED = {
    "connection.secure-ok": "connection.secure",
    "connection.close-ok": "connection.close",
    "channel.flow-ok": "channel.flow",
    "channel.close-ok": "channel.close",
}
"""Methods that a client sends only where a server says something: what that is."""
UNREADABLE = {
    "truncated": ("cut short", "beyond"),
    "overlong": ("beyond",),
    "trailing": ("follow the last",),
}
"""By what it is, how the decoder says that a method cannot be read; a frame cut within a string is both."""


def occasion(about: Subject) -> str:
    """Give the rule whose scenario has a client send the method."""
    provoking = PROVOKED.get(kind(about).full_name)
    return f"0-9-1/grammar/{provoking}.client-implements" if provoking else TALK


def everywhere(about: Subject) -> Pattern:
    """Look at the method, whether it can be read or not."""
    return came(kind(about), UNREAD)


def is_of(each: Framed, about: Subject) -> bool:
    return each.unit.payload[:4] == kind(about).key.to_bytes(4)


def whole(each: Framed, about: Subject, fault: str) -> Found:
    """Say whether a method can be read, or that it has a fault."""
    if not is_of(each, about):
        return None
    why = unreadable(each.unit)
    if not why:
        return True
    is_it = any(told in why for told in UNREADABLE[fault])
    return f"{kind(about).full_name}: {why}, at {each.at:.4f} s" if is_it else None


def sends(change: Callable[[Frame], Frame | bytes]) -> Callable[[Subject], Interposer]:
    """Make a client that changes the frame of the method."""
    return lambda about: mends(sent_on(kind(about)), change)


def sends_payload(change: Callable[[Method], bytes]) -> Callable[[Subject], Interposer]:
    def changed(frame: Frame) -> Frame:
        return Frame(METHOD, frame.channel, change(frame.method()))

    return lambda about: mends(sent_on(kind(about)), changed)


@watches_for(of_clients("truncated"), during=occasion, looks_at=everywhere, never=NEVER, role=Role.CLIENT)
@broken_by("cuts it short", sends(without_its_last(1)), Role.CLIENT)
def client_ends_no_method_early(each: Framed, about: Subject) -> Found:
    """In every such method that the client sends, the last argument is whole."""
    return whole(each, about, "truncated")


@watches_for(of_clients("overlong"), during=occasion, looks_at=everywhere, never=NEVER, role=Role.CLIENT)
@broken_by("says a length beyond the frame", sends_payload(overlong), Role.CLIENT)
def client_says_no_length_beyond_the_frame(each: Framed, about: Subject) -> Found:
    """In every such method that the client sends, each argument ends within the frame."""
    return whole(each, about, "overlong")


@watches_for(of_clients("trailing"), during=occasion, looks_at=everywhere, never=NEVER, role=Role.CLIENT)
@broken_by("adds an octet", sends(with_more(b"\x00")), Role.CLIENT)
def client_adds_nothing_to_a_method(each: Framed, about: Subject) -> Found:
    """Nothing follows the last argument of such a method that the client sends."""
    return whole(each, about, "trailing")


@watches_for(
    of_clients("channel-zero"),
    during=occasion,
    looks_at=everywhere,
    never=NEVER,
    role=Role.CLIENT,
)
@broken_by("sends it on channel 0", sends(on_channel(0)), Role.CLIENT)
def client_keeps_it_off_channel_zero(each: Framed, about: Subject) -> Found:
    """The client sends such a method on a channel above 0."""
    if not is_of(each, about):
        return None
    return each.unit.channel > 0 or f"{kind(about).full_name} on channel 0 at {each.at:.4f} s"


@watches_for(of_clients("misplaced"), during=occasion, looks_at=everywhere, never=NEVER, role=Role.CLIENT)
@broken_by("sends it on channel 1", sends(on_channel(1)), Role.CLIENT)
def client_keeps_it_on_channel_zero(each: Framed, about: Subject) -> Found:
    """The client sends such a method on channel 0."""
    if not is_of(each, about):
        return None
    on = each.unit.channel
    return not on or f"{kind(about).full_name} on channel {on} at {each.at:.4f} s"


class Channels(State):
    """The channels that the client has open: those it has asked for and neither closed nor given up."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.unsure = False

    def missed(self, way: Direction) -> None:
        """Note that the client may have opened some that nobody saw."""
        self.unsure |= way is Direction.RECEIVED


@watches_for(
    of_clients("unopened"),
    during=occasion,
    looks_at=lambda about: came(Channel.Open, Channel.Close, Channel.CloseOk) + everywhere(about),
    start=lambda _: Channels,
    gap=Gaps.TOLD,
    never=NEVER,
    role=Role.CLIENT,
)
@broken_by("sends it on another", sends(lambda it: on_channel(it.channel + UNUSED)(it)), Role.CLIENT)
def client_opens_a_channel_before_it_uses_it(channels: Channels, each: Framed, about: Subject) -> Found:
    """The client sends such a method on a channel that it has opened, and not closed since."""
    on, found = each.unit.channel, None
    if is_of(each, about):
        found = on in channels.open or f"{kind(about).full_name} on channel {on} at {each.at:.4f} s"
        found = None if found is not True and channels.unsure else found
    match each.said:
        case Channel.Open():
            channels.open.add(on)
        case Channel.CloseOk():
            channels.open.discard(on)
    return found


@watches_for(
    of_clients("wrong-way"),
    during=lambda _: TALK,
    looks_at=lambda about: came(kind(about)),
    counts=lambda _: came(METHOD),
    role=Role.CLIENT,
)
@broken_by(
    "sends it behind a Declare",
    lambda about: adds(
        sent_on(Queue.Declare), lambda it: method_frame(it.channel, kind(about)()), from_server=False
    ),
    Role.CLIENT,
)
def client_sends_nothing_that_servers_send(each: Framed, about: Subject) -> Found:
    """The client sends no such method."""
    return f"{kind(about).full_name} at {each.at:.4f} s"


def an_unknown_method(about: Subject) -> Interposer:
    """Sends a method of the class that nobody knows behind a Declare."""
    index = max(each.index for each in given(about.content).methods) + NO_METHOD
    payload = given(about.content).index.to_bytes(2) + index.to_bytes(2)
    return adds(sent_on(Queue.Declare), lambda it: Frame(METHOD, it.channel, payload), from_server=False)


@watches_for(
    of_clients("unknown-method"),
    during=lambda _: TALK,
    looks_at=lambda _: came(UNREAD),
    counts=lambda _: came(METHOD),
    role=Role.CLIENT,
)
@broken_by("sends one of a thousand more", an_unknown_method, Role.CLIENT)
def client_knows_the_methods_it_sends(each: Framed, about: Subject) -> Found:
    """Every method of the class that the client sends is one."""
    payload = each.unit.payload
    if int.from_bytes(payload[:2]) != given(about.content).index or is_known(payload):
        return None
    return f"a method {int.from_bytes(payload[2:4])} of the class {given(about.content).name}"


CLASSES = {each.index for each in GRAMMAR.classes}
A_STRANGE_CLASS = Frame(METHOD, 1, (0xEFFF).to_bytes(2) + (10).to_bytes(2))


@watches_for(
    of_clients("unknown-class"),
    during=lambda _: TALK,
    looks_at=lambda _: came(UNREAD),
    counts=lambda _: came(METHOD),
    role=Role.CLIENT,
)
@broken_by(
    "sends one of no class", adds(sent_on(Queue.Declare), lambda _: A_STRANGE_CLASS, False), Role.CLIENT
)
def client_knows_the_classes_it_sends(each: Framed, _: Subject) -> Found:
    """Every method that the client sends is of a class that exists."""
    index = int.from_bytes(each.unit.payload[:2])
    return None if index in CLASSES else f"a method of the class {index} at {each.at:.4f} s"


@watches_for(
    of_clients("undefined-type"),
    during=lambda _: TALK,
    looks_at=lambda _: came(Garbage),
    counts=lambda _: came(Frame),
    role=Role.CLIENT,
)
@broken_by(
    "sends one of type 9",
    mends(sent_on(Queue.Declare), lambda it: RawFrame(9, it.channel, it.payload).encode()),
    Role.CLIENT,
)
def client_sends_frames_of_defined_types(each: Passage, _: Subject) -> Found:
    """Every frame that the client sends is of one of the four types."""
    assert isinstance(each.unit, Garbage)
    return f"{each.unit.why} at {each.at:.4f} s" if "not defined" in each.unit.why else None


# -- contents ------------------------------------------------------------------------------------------

OF_TYPE = {"frame-header": HEADER, "frame-body": BODY}
A_HEADER = Frame(HEADER, 1, Basic.Properties.class_index.to_bytes(2) + bytes(12))


def another(about: Subject) -> Interposer:
    """Sends a frame of the type behind a Declare, where no content was announced."""
    stray = Frame(BODY, 1, b"stray") if given(about.constant).name == "frame-body" else A_HEADER
    return adds(sent_on(Queue.Declare), lambda it: on_channel(it.channel)(stray), from_server=False)


@watches_for(of_clients("frame"), during=lambda _: TALK, looks_at=lambda _: came(Contents), role=Role.CLIENT)
@broken_by("sends one behind a Declare", another, Role.CLIENT)
def client_announces_every_content(each: Contents, about: Subject) -> Found:
    """Every content frame of the type that the client sends belongs to a method that carries content."""
    if OF_TYPE[given(about.constant).name] not in each.kinds:
        return None
    named = each.method.full_name if each.method else "nothing"
    return (each.method is not None and each.method.spec.content) or f"behind {named} at {each.at:.4f} s"


class Announced(State):
    """On which channels a content was announced, and its header has not come."""

    def __init__(self) -> None:
        self.due: set[int] = set()

    def missed(self, way: Direction) -> None:
        """Forget what is due: it may have come."""
        if way is Direction.RECEIVED:
            self.due.clear()


@watches_for(
    of_clients("content-missing"),
    during=lambda _: TALK,
    looks_at=lambda _: came(METHOD, HEADER, BODY),
    start=lambda _: Announced,
    gap=Gaps.TOLD,
    role=Role.CLIENT,
)
@broken_by(
    "sends a method in its place",
    mends(is_header, lambda it: method_frame(it.channel, Basic.Qos())),
    Role.CLIENT,
)
def client_sends_the_content_it_announces(announced: Announced, each: Framed, about: Subject) -> Found:
    """Behind every such method that the client sends comes a content header."""
    on, missing = each.unit.channel, each.unit.channel in announced.due
    announced.due.discard(on)
    if each.unit.type == METHOD and is_of(each, about):
        announced.due.add(on)
    if not missing:
        return None
    return each.unit.type == HEADER or f"none came on channel {on} up to {each.at:.4f} s"


@watches_for(
    of_clients("content-class"),
    during=lambda _: TALK,
    looks_at=lambda _: came(Contents),
    role=Role.CLIENT,
)
@broken_by(
    "says the class of queues",
    mends(is_header, lambda it: Frame(HEADER, it.channel, b"\x00\x32" + it.payload[2:])),
    Role.CLIENT,
)
def client_gives_contents_their_class(each: Contents, about: Subject) -> Found:
    """Every content header that the client sends behind such a method is of its class."""
    if not (isinstance(each.method, kind(about)) and each.headers):
        return None
    index = int.from_bytes(each.headers[0][:2])
    return index == given(about.content).index or f"a header of class {index} at {each.at:.4f} s"


def without_its_table(payload: bytes) -> bytes:
    """Give a content header with an empty table: what is wrong within one is for the rules of its values."""
    flags, at = int.from_bytes(payload[12:14]), 14
    for bit in (15, 14):
        at += (flags >> bit & 1) * (1 + int.from_bytes(payload[at : at + 1]))
    behind = at + 4 + int.from_bytes(payload[at : at + 4])
    if not flags >> 13 & 1 or behind > len(payload):
        return payload
    return payload[:at] + bytes(4) + payload[behind:]


@watches_for(
    of_clients("content-header"),
    during=lambda _: TALK,
    looks_at=lambda _: came(Contents),
    role=Role.CLIENT,
)
@broken_by("cuts it short", mends(is_header, without_its_last(1)), Role.CLIENT)
def client_ends_no_content_header_early(each: Contents, about: Subject) -> Found:
    """Every content header that the client sends behind such a method holds all that it announces."""
    if not (isinstance(each.method, kind(about)) and each.headers):
        return None
    why = unreadable(Frame(HEADER, 1, without_its_table(each.headers[0])))
    if any(told in why for told in UNREADABLE["truncated"]):
        return f"{why}, at {each.at:.4f} s"
    return True if not why else None


@watches_for(
    of_clients("content-body"),
    during=lambda _: TALK,
    looks_at=lambda _: came(Contents),
    role=Role.CLIENT,
)
@broken_by("sends an octet more", mends(is_body, with_more(b"x")), Role.CLIENT)
def client_sends_no_more_than_announced(each: Contents, about: Subject) -> Found:
    """No body that the client sends behind such a method is longer than its header says."""
    if not (isinstance(each.method, kind(about)) and each.headers):
        return None
    return sum(each.bodies) <= each.announced or f"{sum(each.bodies)} octets, {each.announced} announced"
