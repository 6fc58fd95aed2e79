"""2.8.19 Constant Definitions: the smallest maximum of a frame's size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from harness.amqp1_0.client import Passage, performatives
from harness.amqp1_0.container import Container
from harness.amqp1_0.deviations import drops, forwards, ignores, rewrites
from harness.amqp1_0.frames import MIN_MAX_FRAME_SIZE
from harness.amqp1_0.outcomes import Refusal, goes_on, refused
from harness.amqp1_0.performatives import Close, Open
from harness.context import Sighting
from scenarios.amqp1_0.s2_7_1_limits import TALKATIVE, largest_frame
from scenarios.registry import broken_by, scenario, watch

TOO_SMALL = (MIN_MAX_FRAME_SIZE - 1, 0)
TAKEN_FOR_512 = "frames of 512 octets are accepted by all: that may be taken for what was meant"


@watch("1-0/2.8.19.minimum-frame-size-stated", during="1-0/2.8.19.minimum-frame-size-refused")
@broken_by("states one octet less", rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE - 1))
@broken_by("accepts nothing", rewrites(Open, max_frame_size=0))
def every_open_states_512_octets_or_more(transcript: Iterable[Passage]) -> Iterator[Sighting]:
    """The max-frame-size of every open of the run is at least 512, or absent.

    An open that a close with an error follows at once agrees on nothing.
    """
    said = [(at, each) for at, _, each in performatives(transcript)]
    for (at, opening), (_, behind) in zip_longest(said, said[1:], fillvalue=(0.0, None)):
        refusing = isinstance(behind, Close) and behind.error is not None
        if isinstance(opening, Open) and isinstance(opening.max_frame_size, int) and not refusing:
            stated = opening.max_frame_size
            yield Sighting(stated >= MIN_MAX_FRAME_SIZE, f"open at {at:.4f} s: max-frame-size {stated}")


def is_too_small(opening: Open) -> bool:
    """Whether it states less than the minimum."""
    return opening.max_frame_size < MIN_MAX_FRAME_SIZE


def is_zero(opening: Open) -> bool:
    """Whether it accepts no octet."""
    return opening.max_frame_size == 0


@scenario("1-0/2.8.19.minimum-frame-size-refused", slow=True)
@broken_by("takes it for 512", drops("open: refuses a max-frame-size below 512"))
@broken_by("says nothing at all", ignores(Open, when=is_too_small))
@broken_by("has much to say of it", rewrites(Close, error=TALKATIVE))
@broken_by("gives no reason", rewrites(Close, error=None))
@broken_by("takes zero for no limit", forwards(Open, when=is_zero, max_frame_size=None))
def frame_size_below_the_minimum_is_refused(container: Container) -> None:
    """An open with a max-frame-size of 511, and one of 0, is refused, or taken for one with 512."""
    container.connection(max_frame_size=MIN_MAX_FRAME_SIZE).fence()
    both = [container.negotiated() for _ in TOO_SMALL]
    # Both are sent first: a server may let some seconds pass before it ends a stream.
    for greedy, stated in zip(both, TOO_SMALL, strict=True):
        greedy.send(greedy.the_open(max_frame_size=stated))
    for greedy in both:
        greedy.refuses(*refused(Refusal.OPENING), goes_on().under(TAKEN_FOR_512))
        greedy.judge(
            "frames of at most 512 octets", "a larger frame", largest_frame(greedy) <= MIN_MAX_FRAME_SIZE
        )
