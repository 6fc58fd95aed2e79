"""3.1.2: a connection belongs to one virtual host."""

from harness.amqp0_9_1.broken.deviations import adds, answers, drops
from harness.amqp0_9_1.broken.faults import goes_over_to_another_host
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.outcomes import answered, closed_silently, connection_closed, silence
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.peer.handshake import open_ok
from harness.amqp0_9_1.wire.frames import method_frame
from harness.amqp0_9_1.wire.vocabulary import Connection, Queue
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

ENDED = connection_closed() | closed_silently()
SAME_HOST = "3.1.2: what is forbidden is another virtual host, not the same once more"


@scenario("0-9-1/prose/3.1.2.one-virtual-host", slow=True)
@broken_by("confirms another one", answers(Connection.Open, Connection.OpenOk(), skip=1))
@broken_by("goes over to another one", goes_over_to_another_host(open_ok))
@broken_by("goes over to another one without a word", goes_over_to_another_host(None))
def connection_keeps_its_virtual_host(broker: Broker) -> None:
    """Open on an open connection ends it, or it sees what it saw before; another host is never confirmed.

    Tried with the same virtual host, and with another one where the target has that facility.
    """
    again = [(broker.endpoint.virtual_host, answered(Connection.OpenOk) | silence())]
    if "second-vhost" in broker.context.facilities:
        again.append((broker.facility("second-vhost")["virtual_host"], silence()))
    for host, borne in again:
        connection = broker.connection()
        channel = connection.channel()
        queue = channel.declare_queue()
        connection.tries(Connection.Open(host), ENDED, borne.recorded(SAME_HOST))
        if connection.usable:
            channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)


class Opened(State):
    """How often the client has opened a virtual host on a connection."""

    times = 0


@watch(
    "0-9-1/prose/3.1.2.one-virtual-host",
    during=TALK,
    looks_at=came(Connection.Open),
    start=Opened,
    gap=Gaps.STOPS,
    role=Role.CLIENT,
)
@broken_by(
    "opens another one",
    adds(sent_on(Connection.Open), lambda _: method_frame(0, Connection.Open("other")), from_server=False),
    Role.CLIENT,
)
def client_opens_one_virtual_host(opened: Opened, each: Passage) -> Found:
    """A client says Connection.Open once on a connection."""
    opened.times += 1
    return opened.times == 1 or f"Connection.Open once more at {each.at:.4f} s"


@scenario(
    "0-9-1/prose/3.1.2.authorization-per-virtual-host", needs={"restricted-user", "second-vhost"}, slow=True
)
@broken_by("lets everybody in", drops("connection.open: refuses a virtual host the user may not use"))
def rights_on_virtual_hosts_are_recorded(broker: Broker) -> None:
    """Whether each of two users may open each of two virtual hosts."""
    stranger, elsewhere = broker.facility("restricted-user"), broker.facility("second-vhost")
    for who, user in (("we", {}), ("a user without rights", stranger)):
        for where, host in (("our virtual host", {}), ("another one", elsewhere)):
            allowed = "may" if may_open(broker.socket(**user | host)) else "may not"
            broker.note(f"{who} {allowed} open {where}")


def may_open(connection: AmqpConnection) -> bool:
    """Log in and open the virtual host; both outcomes are legal."""
    connection.begin()
    connection.authenticate()
    connection.send(connection.tune_ok(), Connection.Open(connection.endpoint.virtual_host))
    wanted = answered(Connection.OpenOk) | connection_closed() | closed_silently()
    return getattr(connection.expect(wanted.recorded()), "method", None) == Connection.OpenOk()
