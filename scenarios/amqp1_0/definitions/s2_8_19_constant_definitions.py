"""2.8.19 Constant Definitions: TLS on its own port, and the smallest maximum of a frame's size."""

from collections.abc import Iterator

from harness.amqp1_0.broken.deviations import (
    Interposed,
    drops,
    forwards,
    ignores,
    ignores_garbage,
    of_client,
    rewrites,
    swaps,
)
from harness.amqp1_0.client.container import Container, hello_answer
from harness.amqp1_0.client.outcomes import Refusal, goes_on, refused
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.wire.composites import CLASSES
from harness.amqp1_0.wire.frames import MIN_MAX_FRAME_SIZE, PROTOCOL_HEADER, SASL_HEADER
from harness.amqp1_0.wire.performatives import Close, Open
from harness.peers.peer import PeerConnection
from harness.play.watching import Found, Gaps, State, came
from harness.wire.journal import Direction
from harness.wire.tls import is_tls
from scenarios.amqp1_0.performatives.s2_7_1_limits import TALKATIVE, largest_frame
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

TOO_SMALL = (MIN_MAX_FRAME_SIZE - 1, 0)
TAKEN_FOR_512 = "frames of 512 octets are accepted by all: that may be taken for what was meant"


def wants_a_header(connection: PeerConnection) -> PeerConnection:
    """Treat the port for TLS like the plain one: who begins otherwise is told the header that is wanted."""
    return connection


def waits_for_a_header(connection: PeerConnection) -> PeerConnection:
    """Take no notice of what is no protocol header on the port for TLS."""
    return Interposed(ignores_garbage(), connection)


@scenario("1-0/2.8.19.tls-before-header", needs={"secure-port"})
@broken_by("answers a ClientHello by the header it wants", swaps(secured=wants_a_header))
@broken_by("waits for a header before TLS", swaps(secured=waits_for_a_header))
def tls_needs_no_header_before_it(container: Container) -> None:
    """A ClientHello is the first that is sent to the port for TLS: TLS answers it, with AMQP inside."""
    plain = container.connection()
    seen = container.hello()
    plain.judge("an answer of TLS to the ClientHello", hello_answer(seen), is_tls(seen))
    container.behind_tls().exchange_headers(SASL_HEADER if container.layers.sasl else PROTOCOL_HEADER)


class Stated(State):
    """What the latest open states, as long as nothing has come behind it."""

    def __init__(self) -> None:
        self.latest: Found = None

    def end(self) -> Iterator[Found]:
        """Give what stands: nothing has taken it back."""
        yield self.latest

    def missed(self, _: Direction) -> None:
        """Note that what came behind the open may have taken it back."""
        self.latest = None


@watch(
    "1-0/2.8.19.minimum-frame-size-stated",
    during="1-0/2.8.19.minimum-frame-size-refused",
    looks_at=came(*CLASSES.values()),
    needs=came(Open),
    start=Stated,
    gap=Gaps.TOLD,
    of_clients=TALK,
)
@broken_by(
    "states one octet less", of_client(rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE - 1)), Role.CLIENT
)
@broken_by("states one octet less", rewrites(Open, max_frame_size=MIN_MAX_FRAME_SIZE - 1))
@broken_by("accepts nothing", rewrites(Open, max_frame_size=0))
def every_open_states_512_octets_or_more(stated: Stated, each: Passage) -> Found:
    """The max-frame-size of every open of the run is at least 512, or absent.

    An open that a close with an error follows at once agrees on nothing.
    """
    refusing = isinstance(each.said, Close) and each.said.error is not None
    found, stated.latest = None if refusing else stated.latest, None
    if isinstance(each.said, Open) and isinstance(size := each.said.max_frame_size, int):
        told = f"open at {each.at:.4f} s: max-frame-size {size}"
        stated.latest = size >= MIN_MAX_FRAME_SIZE or told
    return found


def is_zero(opening: Open) -> bool:
    return opening.max_frame_size == 0


@scenario("1-0/2.8.19.minimum-frame-size-refused", slow=True)
@broken_by("takes it for 512", drops("open: refuses a max-frame-size below 512"))
@broken_by("says nothing at all", ignores(Open, when=lambda it: it.max_frame_size < MIN_MAX_FRAME_SIZE))
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
