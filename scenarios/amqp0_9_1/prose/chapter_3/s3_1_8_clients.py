"""3.1.8, and where a delivery tag is valid: how clients acknowledge."""

from harness.amqp0_9_1.broken.deviations import adds, mends
from harness.amqp0_9_1.broken.frame_faults import on_channel, sent_on
from harness.amqp0_9_1.client.outcomes import silence
from harness.amqp0_9_1.client.transcript import Passage, readable
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.frames import method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel
from harness.play.expect import ControlFailed
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import SENT, Direction
from scenarios.amqp0_9_1.getting import soon
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

SETTLING = came(Basic.Ack, Basic.Reject) + went(Basic.Deliver, Basic.GetOk, Channel.OpenOk)
FAR = 500
"""How far from the channels in use those numbers are that nobody opens."""


class Deliveries(State):
    """What was delivered on each channel since it was opened, and what of it is settled."""

    def __init__(self) -> None:
        self.out: dict[int, set[int]] = {}
        self.settled: dict[int, set[int]] = {}
        self.unsure = False

    def missed(self, way: Direction) -> None:
        """Note that more may have been delivered than was seen."""
        self.unsure |= way is SENT

    def takes(self, each: Passage) -> bool:
        """Take what the server says; True where it is the client that speaks."""
        on = getattr(each.unit, "channel", 0)
        match each.said:
            case Channel.OpenOk():
                self.out[on], self.settled[on] = set(), set()
            case Basic.Deliver() | Basic.GetOk():
                self.out.setdefault(on, set()).add(each.said.delivery_tag)
            case _:
                return True
        return False


@watch(
    "0-9-1/domain.delivery-tag.channel-local",
    during=TALK,
    looks_at=SETTLING,
    start=Deliveries,
    gap=Gaps.TOLD,
    role=Role.CLIENT,
)
@broken_by(
    "acknowledges on another",
    mends(sent_on(Basic.Ack), lambda it: on_channel(it.channel + FAR)(it)),
    Role.CLIENT,
)
def client_settles_where_it_was_delivered(deliveries: Deliveries, each: Passage) -> Found:
    """Every Ack and Reject of the client's is on the channel on which its tag was delivered."""
    if not deliveries.takes(each):
        return None
    on, tag = getattr(each.unit, "channel", 0), each.said.delivery_tag
    if not tag or tag in deliveries.out.get(on, ()):
        return True if tag else None
    elsewhere = any(tag in tags for tags in deliveries.out.values())
    return f"tag {tag} of another channel on channel {on} at {each.at:.4f} s" if elsewhere else None


@watch(
    "0-9-1/prose/3.1.8.explicit-acknowledgement",
    during=TALK,
    looks_at=SETTLING,
    start=Deliveries,
    gap=Gaps.TOLD,
    role=Role.CLIENT,
)
@broken_by("acknowledges twice", adds(sent_on(Basic.Ack), lambda it: it, from_server=False), Role.CLIENT)
@broken_by(
    "acknowledges what never came",
    mends(sent_on(Basic.Ack), lambda it: method_frame(it.channel, Basic.Ack(1 << 40))),
    Role.CLIENT,
)
def client_settles_each_delivery_once(deliveries: Deliveries, each: Passage) -> Found:
    """Every Ack and Reject of the client's is for what was delivered there, and not settled before."""
    if not deliveries.takes(each):
        return None
    on, tag = getattr(each.unit, "channel", 0), each.said.delivery_tag
    out, settled = deliveries.out.get(on, set()), deliveries.settled.setdefault(on, set())
    found: Found = tag in out - settled or f"tag {tag} on channel {on}, not outstanding, at {each.at:.4f} s"
    if getattr(each.said, "multiple", False):
        settled |= {known for known in out if known <= tag or not tag}
        found = True if not tag else found
    settled.add(tag)
    return None if found is not True and deliveries.unsure else found


@scenario("0-9-1/prose/3.1.8.client-acknowledges-nothing-settled", role=Role.CLIENT)
@broken_by(
    "acknowledges it",
    mends(
        lambda it: it.payload == b"consumed",
        lambda it: it.encode() + method_frame(it.channel, Basic.Ack(2)).encode(),
    ),
    Role.CLIENT,
)
def client_does_not_acknowledge_what_is_settled(client: Client) -> None:
    """A message is got, another consumed, both without acknowledgement: no Ack and no Reject comes."""
    connection = client.connection()
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    channel.publish("got", key=queue)
    if channel.get(queue, settled=True) is None:
        raise ControlFailed("basic.get", "no message")
    channel.receive(queue, settled=True)
    channel.publish("consumed", key=queue)
    told = channel.messages(1)
    client.judge("the message is told", "none is told", bool(told))
    soon(connection, silence())
    said = [readable(unit) for unit in connection.link.received()]
    client.judge(
        "no acknowledgement", "one", not any(isinstance(each, Basic.Ack | Basic.Reject) for each in said)
    )
