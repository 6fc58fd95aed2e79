"""3.5.10 HANDLE NOTIFY Command: what is seen of all that servers send."""

from typing import Any

from harness.amqp_fast.broken.deviations import adds, mangles, replaces, rewrites
from harness.amqp_fast.client.channel import carrying
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import Channel, Handle
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.units import Garbage
from scenarios.amqp_fast.channels.s3_3_2_2_prepared_by_servers import NEVER
from scenarios.amqp_fast.channels.watched import MESSAGES as ON_CHANNELS
from scenarios.amqp_fast.channels.watched import Messages
from scenarios.amqp_fast.messages.s3_4_3_frames_watched import (
    Agreed,
    Prepared,
    nothing_is_out_of_band_uninvited,
    partial_is_zero_at_the_end,
    recovers_what_was_prepared,
)
from scenarios.amqp_fast.messages.watched import MESSAGES, Fragments
from scenarios.amqp_fast.talk import DIALOGUE
from scenarios.registry import broken_by, watch

NAMED = "fast/3.5.10.named-on-the-last"
REST = "fast/3.5.10.rest-after-ready"


class Uses(State):
    """How often each handle was opened and not closed by the server, and which consume or have browsed."""

    def __init__(self) -> None:
        self.opened: dict[int, int] = {}
        self.consume: set[int] = set()
        self.browse: set[int] = set()

    def see(self, said: Any) -> Handle.Notify | None:
        """Take note of what is said; give HANDLE NOTIFY."""
        match said:
            case Handle.Open(handle_id=number):
                self.opened[number] = self.opened.get(number, 0) + 1
            case Handle.Close(handle_id=number):
                self.opened[number] = max(self.opened.get(number, 0) - 1, 0)
            case Handle.Consume(handle_id=number):
                self.consume.add(number)
            case Handle.Browse(handle_id=number):
                self.browse.add(number)
            case Handle.Notify():
                return said
        return None


USES = went(Handle.Open, Handle.Consume, Handle.Browse) + came(Handle.Close, Handle.Notify)


@watch("fast/3.5.10.of-the-consuming-handle", during=DIALOGUE, looks_at=USES, start=Uses, gap=Gaps.STOPS)
@broken_by("names a handle of its own", rewrites(Handle.Notify, handle_id=999))
@broken_by("names no handle", rewrites(Handle.Notify, handle_id=0))
@broken_by("closes, then sends", adds(Handle.Notify, lambda it: Handle.Close(it.handle_id, 200), before=True))
def notify_names_a_handle_that_asked(uses: Uses, each: Passage) -> Found:
    """HANDLE NOTIFY is for a handle that is open, and that consumes or has browsed."""
    notify = uses.see(each.said)
    if notify is None:
        return None
    number = notify.handle_id
    good = uses.opened.get(number, 0) > 0 and number in uses.consume | uses.browse
    return good or f"a message for handle {number}, which did not ask, at {each.at:.4f} s"


@watch("fast/3.5.10.delivered-by-consume", during=DIALOGUE, looks_at=USES, start=Uses, gap=Gaps.STOPS)
@broken_by("flags none", rewrites(Handle.Notify, delivered=False))
@broken_by("turns the flag round", rewrites(Handle.Notify, delivered=lambda bit: not bit))
def consumed_messages_are_delivered(uses: Uses, each: Passage) -> Found:
    """delivered is set in a message for a handle that consumes, and has not browsed."""
    notify = uses.see(each.said)
    if notify is None or notify.handle_id not in uses.consume - uses.browse:
        return None
    return notify.delivered or f"consumed and not delivered, at {each.at:.4f} s"


@watch(
    "fast/3.5.10.not-delivered-by-browse",
    during="fast/2.2.8.7.browse-answered-by-notify",
    looks_at=USES,
    start=Uses,
    gap=Gaps.STOPS,
)
@broken_by("flags all", rewrites(Handle.Notify, delivered=True))
@broken_by("turns the flag round", rewrites(Handle.Notify, delivered=lambda bit: not bit))
def browsed_messages_are_not_delivered(uses: Uses, each: Passage) -> Found:
    """delivered is zero in a message for a handle that has browsed, and does not consume."""
    notify = uses.see(each.said)
    if notify is None or notify.handle_id not in uses.browse - uses.consume:
        return None
    return not notify.delivered or f"browsed and delivered, at {each.at:.4f} s"


class Behind(State):
    """Whether a HANDLE NOTIFY came last."""

    def __init__(self) -> None:
        self.notify = False


@watch(
    "fast/3.5.10.fragment-size-is-exact",
    during=NAMED,
    looks_at=came(Frame, Garbage),
    start=Behind,
    gap=Gaps.STOPS,
)
@broken_by("tells an octet more", rewrites(Handle.Notify, fragment_size=lambda size: size + 1))
@broken_by("puts an octet behind", mangles(Handle.Notify, lambda octets: octets + b"\0"))
def next_frame_begins_behind_the_fragment(behind: Behind, each: Passage) -> Found:
    """Behind as many octets as HANDLE NOTIFY says the next frame begins."""
    was, behind.notify = behind.notify, isinstance(each.said, Handle.Notify)
    if not was:
        return None
    return each.said is not None or f"no frame behind a fragment, at {each.at:.4f} s"


@watch("fast/3.5.10.partial-but-the-last", during=NAMED, looks_at=MESSAGES, start=Fragments, gap=Gaps.STOPS)
@broken_by("never sets partial", rewrites(Handle.Notify, partial=False))
@broken_by("turns partial round", rewrites(Handle.Notify, partial=lambda bit: not bit))
@broken_by("sets it in the first alone", rewrites(Handle.Notify, partial=False, skip=2))
def partial_is_set_but_in_the_last(messages: Fragments, each: Passage) -> Found:
    """With the first fragment whose partial is zero a message has all its octets."""
    return partial_is_zero_at_the_end(messages, each)


def rest_of(prepare: Any) -> Handle.Notify:
    """Give the rest of a message, which is nothing."""
    return Handle.Notify(prepare.handle_id, 1, recovery=True, delivered=True)


def another(notify: Any) -> Frame:
    """Give a fragment of another message."""
    return carrying(notify.replace(message_nbr=notify.message_nbr + 50), b"another")


@watch(
    "fast/3.5.10.consecutive-on-the-channel",
    during=NAMED,
    looks_at=ON_CHANNELS,
    start=Messages,
    gap=Gaps.STOPS,
)
@broken_by("mixes messages", adds(Handle.Notify, another, when=lambda it: it.partial))
@broken_by("numbers fragments", rewrites(Handle.Notify, lambda it: it.partial, message_nbr=lambda it: it + 1))
def fragments_follow_one_another(messages: Messages, each: Passage) -> Found:
    """Behind a fragment with partial set the next one on its channel is of the same message."""
    notify = messages.see(each.said)
    before = messages.goes_on(notify) if notify else None
    if notify is None or before is None:
        return None
    same = (notify.handle_id, notify.message_nbr) == (before.handle_id, before.message_nbr)
    return same or f"a fragment of another message, at {each.at:.4f} s"


@watch(
    "fast/3.5.10.out-of-band-unused",
    during=DIALOGUE,
    looks_at=went(Channel.Open, Handle.Open) + came(Handle.Notify),
    start=Agreed,
    gap=Gaps.STOPS,
)
@broken_by("sends out of band", rewrites(Handle.Notify, out_of_band=True))
@broken_by("delivers out of band", rewrites(Handle.Notify, out_of_band=True, when=lambda it: it.delivered))
def messages_are_in_the_stream(agreed: Agreed, each: Passage) -> Found:
    """out-of-band is zero where the channel was opened without a word about it."""
    return nothing_is_out_of_band_uninvited(agreed, each)


@watch(
    "fast/3.5.10.recovery-only-after-ready",
    during=REST,
    looks_at=went(Handle.Ready) + came(Handle.Prepare, Handle.Notify),
    start=Prepared,
    gap=Gaps.STOPS,
    never=NEVER,
)
@broken_by("sends the rest alone", replaces(Handle.Prepare, rest_of))
@broken_by("does not wait for the answer", adds(Handle.Prepare, rest_of))
def rest_comes_behind_ready(state: Prepared, each: Passage) -> Found:
    """HANDLE NOTIFY with recovery is for a handle on which a message was prepared, and answered."""
    return recovers_what_was_prepared(state, each)
