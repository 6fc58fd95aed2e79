"""3.4.3 Message Frames: what is seen of the messages of a server."""

from harness.amqp_fast.broken.deviations import mangles, replaces, rewrites
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import Channel, Handle
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.units import Garbage
from scenarios.amqp_fast.messages.watched import MESSAGES, Fragments
from scenarios.registry import broken_by, watch

SPLIT = "fast/3.4.2.long-messages-split"


class Behind(State):
    """Whether a fragment came last."""

    def __init__(self) -> None:
        self.fragment = False


@watch(
    "fast/3.4.3.outside-commands",
    during=SPLIT,
    looks_at=came(Frame, Garbage),
    start=Behind,
    gap=Gaps.STOPS,
)
@broken_by("sends less than it tells", mangles(Handle.Notify, lambda octets: octets[:-3]))
@broken_by("tells the size of a message again", mangles(Handle.Notify, lambda octets: octets + b"\x00\x01"))
def command_stands_behind_each_message(behind: Behind, each: Passage) -> Found:
    """Directly behind the fragment of each message stands the next command."""
    was, behind.fragment = behind.fragment, isinstance(each.said, Handle.Notify | Handle.Prepare)
    if not was:
        return None
    return each.said is not None or f"no command behind a message, at {each.at:.4f} s"


@watch(
    "fast/3.4.3.server-sends-by-notify",
    during=SPLIT,
    looks_at=came(Handle.Send, Handle.Notify, Handle.Prepare),
)
@broken_by("sends by HANDLE SEND", replaces(Handle.Notify, lambda it: Handle.Send(it.handle_id)))
def messages_come_by_notify(each: Passage) -> Found:
    """What carries a message of the server is HANDLE NOTIFY, or HANDLE PREPARE."""
    return not isinstance(each.said, Handle.Send) or f"HANDLE SEND from the server, at {each.at:.4f} s"


@watch("fast/3.4.3.fragment-size-told", during=SPLIT, looks_at=MESSAGES, start=Fragments, gap=Gaps.STOPS)
@broken_by("does not count the header", rewrites(Handle.Notify, fragment_size=lambda size: size - 13))
@broken_by("counts the command", rewrites(Handle.Notify, fragment_size=lambda size: size + 3))
def fragment_sizes_add_up(messages: Fragments, each: Passage) -> Found:
    """The fragments of a message are together as long as its header and its body."""
    message = messages.see(each)
    if message is None or not message.is_whole:
        return None
    return message.missing == 0 or f"fragments that do not add up, at {each.at:.4f} s"


@watch("fast/3.4.3.partial-zero-at-the-end", during=SPLIT, looks_at=MESSAGES, start=Fragments, gap=Gaps.STOPS)
@broken_by("never sets partial", rewrites(Handle.Notify, partial=False))
@broken_by("turns partial round", rewrites(Handle.Notify, partial=lambda bit: not bit))
def partial_is_zero_at_the_end(messages: Fragments, each: Passage) -> Found:
    """The fragment that completes the body has partial zero; those before it have it set."""
    message = messages.see(each)
    if message is None or message.missing is None:
        return None
    if message.is_whole:
        return message.missing == 0 or f"the end of a message that is not complete, at {each.at:.4f} s"
    # One that is complete may be told so by a fragment without an octet.
    return None if message.missing == 0 else message.missing > 0 or f"more than the body, at {each.at:.4f} s"


class Agreed(State):
    """The channels for which we have said something about out of band, and the channel of each handle."""

    def __init__(self) -> None:
        self.channels: set[int] = set()
        self.handles: dict[int, int] = {}


@watch(
    "fast/3.4.3.out-of-band-not-uninvited",
    during=SPLIT,
    looks_at=went(Channel.Open, Handle.Open) + came(Handle.Notify),
    start=Agreed,
    gap=Gaps.STOPS,
)
@broken_by("sends out of band", rewrites(Handle.Notify, out_of_band=True))
def nothing_is_out_of_band_uninvited(agreed: Agreed, each: Passage) -> Found:
    """HANDLE NOTIFY has out-of-band zero, unless its channel was opened with a string about it."""
    match each.said:
        case Channel.Open(channel_id=number, out_of_band=told) if told:
            agreed.channels.add(number)
        case Handle.Open(channel_id=channel, handle_id=number):
            agreed.handles[number] = channel
        case Handle.Notify(handle_id=number, out_of_band=out):
            invited = agreed.handles.get(number) in agreed.channels
            return not out or invited or f"out of band, of which nobody spoke, at {each.at:.4f} s"
    return None


class Prepared(State):
    """The handles on which the server has prepared a message, and those on which we have answered."""

    def __init__(self) -> None:
        self.prepared: set[int] = set()
        self.ready: set[int] = set()


@watch(
    "fast/3.4.3.recovery-only-after-prepare",
    during=SPLIT,
    looks_at=went(Handle.Ready) + came(Handle.Prepare, Handle.Notify),
    start=Prepared,
    gap=Gaps.STOPS,
)
@broken_by("recovers what was not prepared", rewrites(Handle.Notify, recovery=True))
def recovers_what_was_prepared(state: Prepared, each: Passage) -> Found:
    """HANDLE NOTIFY with recovery set goes on with what was prepared on its handle, and answered."""
    match each.said:
        case Handle.Prepare(handle_id=number):
            state.prepared.add(number)
        case Handle.Ready(handle_id=number) if number in state.prepared:
            state.ready.add(number)
        case Handle.Notify(handle_id=number, recovery=recovery, partial=partial):
            good = not recovery or number in state.ready
            if not partial:
                state.prepared.discard(number)
                state.ready.discard(number)
            return good or f"the rest of what was not prepared, at {each.at:.4f} s"
    return None
