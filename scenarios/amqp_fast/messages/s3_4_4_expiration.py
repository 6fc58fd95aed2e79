"""3.4.4 Message Header: the expiration of a message."""

from harness.amqp_fast.broken.deviations import Fault, carries
from harness.amqp_fast.broken.message_faults import turned_round, with_head
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import message
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.entities import Message
from harness.amqp_fast.wire.vocabulary import Handle
from scenarios.amqp_fast.messages.common import DAY
from scenarios.registry import broken_by, scenario

MINUTE, HOUR = 60, 3600
NEXT = b"a message behind it"


def ahead(seconds: float) -> Fault:
    """Make a server whose clock is ahead of UTC by so much, or behind it."""

    def expired(kept: Message, now: float) -> bool:
        return 0 < kept.head.expiration <= now + seconds

    return Fault.swaps(expired=expired)


def queued(server: Server, *messages: tuple[bytes, int]) -> FastHandle:
    """Send messages with these expirations to a queue, and give a consumer that is there only then."""
    queue, sender = server.queue(), server.handle()
    for body, expiration in messages:
        sender.publish(queue, body, expiration=expiration)
    return server.handle(new_connection=True).consume(queue, no_ack=True)


@scenario("fast/3.4.4.may-expire")
@broken_by("expires all", Fault.swaps(expired=lambda *_: True))
@broken_by("loses its place in time", carries(Handle.Notify, with_head(expiration=turned_round(4))))
def message_that_has_expired_may_be_gone(server: Server) -> None:
    """A message that expires in a day comes; whether one that expired a day ago does, is recorded."""
    times = server.today(DAY), server.today(-DAY)
    reader = queued(server, (b"good", times[0]), (b"expired", times[1]), (NEXT, 0))
    reader.observe(message(b"good", head={"expiration": times[0]}))
    if is_next(reader):
        server.note("messages are expired")
        return
    server.note("messages are not expired")
    reader.observe(message(NEXT))


def is_next(reader: FastHandle) -> bool:
    """Judge that a message that has expired comes, or else the one behind it; say whether it was expired."""
    return bool(reader.observe(message(NEXT) | message(b"expired")).body == NEXT)


@scenario("fast/3.4.4.not-expired-early")
@broken_by("expires minutes early", ahead(10 * MINUTE))
@broken_by("expires a week early", ahead(7 * DAY))
@broken_by("takes it for a duration", Fault.swaps(expired=lambda kept, _: kept.head.expiration > 2**30))
@broken_by("sets it anew", carries(Handle.Notify, with_head(expiration=lambda old: old + 1 if old else 0)))
def message_is_not_expired_early(server: Server) -> None:
    """Messages that expire in five minutes, a day and ten years come, and one without expiration."""
    times = [server.today(5 * MINUTE), server.today(DAY), server.today(3650 * DAY), 0]
    reader = queued(server, *((b"%d" % place, each) for place, each in enumerate(times)))
    for place, each in enumerate(times):
        reader.observe(message(b"%d" % place, head={"expiration": each}))


@scenario("fast/3.4.4.expiration-in-utc")
@broken_by("is an hour ahead", ahead(HOUR))
@broken_by("is an hour behind", ahead(-HOUR))
@broken_by("is half an hour ahead", ahead(HOUR / 2))
def expiration_is_in_utc(server: Server) -> None:
    """What expires in twenty minutes comes; what did twenty minutes ago does not, where anything expires."""
    queued(server, (b"in time", server.today(20 * MINUTE))).hears(b"in time")
    if not is_next(queued(server, (b"expired", server.today(-DAY)), (NEXT, 0))):
        server.note("messages are not expired, so that only half of it can be seen")
        return
    queued(server, (b"expired", server.today(-20 * MINUTE)), (NEXT, 0)).hears(NEXT)


@scenario("fast/3.4.4.zero-never-expires")
@broken_by("takes zero for long ago", Fault.swaps(expired=lambda kept, now: kept.head.expiration <= now))
@broken_by("sets an expiration", carries(Handle.Notify, with_head(expiration=lambda old: old or 1)))
def zero_is_no_expiration(server: Server) -> None:
    """A message with expiration 0 comes, as the first of two, of which the other one expired a day ago."""
    reader = queued(server, (b"without", 0), (b"expired", server.today(-DAY)))
    reader.observe(message(b"without", head={"expiration": 0}))
