"""Whatever a client sends, the peer answers or closes: nothing is raised, nothing hangs, tags stay good."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.amqp0_9_1.peer import Limits, Peer
from harness.amqp0_9_1.peer.tests.dialogue import START_OK, Client, Message
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    PROTOCOL_HEADER,
    RawFrame,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic, Channel, Connection, Queue

LIMITS = Limits(content=1 << 16, stored=1 << 18, entities=20)
NAMES = st.sampled_from(["", "q", "p", "amq.direct", "amq.fanout", "amq.topic", "amq.x", "a b"])
TABLE = st.dictionaries(
    st.sampled_from(["a", "x-match", "1st", "b"]),
    st.one_of(st.integers(-9, 9), st.text(max_size=3), st.none()),
    max_size=3,
)
BY_TYPE = {
    "bit": st.booleans(),
    "octet": st.integers(0, 255),
    "short": st.integers(0, 3),
    "long": st.integers(0, 5),
    "longlong": st.integers(0, 6),
    "shortstr": NAMES,
    "longstr": st.binary(max_size=9),
    "table": TABLE,
    "timestamp": st.integers(0, 9),
}


def methods(chosen: Any) -> Any:
    """Any of these methods, with any plausible arguments."""
    return st.one_of(
        [
            st.builds(method, **{attribute(field.name): BY_TYPE[field.type] for field in method.fields})
            for method in chosen
        ]
    )


SERVED = [
    m for m in CODEC.methods.values() if m.spec.class_name != "connection" and "server" in m.spec.chassis
]
USUAL = [method for method in SERVED if method.spec.class_name != "channel"]
USUAL += [Channel.Flow]
PUBLICATION = st.tuples(NAMES, NAMES, st.booleans(), st.booleans(), st.binary(max_size=5), st.integers(0, 9))
STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(1, 2),
        st.one_of(methods(USUAL), PUBLICATION, st.sampled_from(["restart", "hang up"])),
    ),
    max_size=30,
)


class Watched:
    """A client that keeps its channels open and remembers what it holds."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.client = Client(server, channels=2)

    def step(self, channel: Any, what: Any) -> None:
        client = self.client
        if what == "restart":
            self.server.restart()
        elif what == "hang up":
            client.peer.hang_up()
        elif isinstance(what, tuple):
            exchange, key, mandatory, immediate, body, priority = what
            client.publish(
                key, body, exchange, channel, mandatory=mandatory, immediate=immediate, priority=priority
            )
        else:
            client.send(what, channel=channel)

    def listen(self) -> None:
        for each in self.client.listen():
            if isinstance(each, Message):
                assert isinstance(each.method, (Basic.Deliver, Basic.GetOk, Basic.Return))
                assert getattr(each.method, "delivery_tag", 1) > 0
            elif isinstance(each, Channel.Close):
                assert each.reply_code in (311, 313, 403, 404, 405, 406)
                self.client.send(Channel.CloseOk(), channel=1)
                self.client.send(Channel.CloseOk(), channel=2)
        if self.client.ended() or self.client.peer.ended:
            self.client = Client(self.server, channels=2)
        for number in (1, 2):
            if number not in self.client.peer.channels:
                self.client.send(Channel.Open(), channel=number)


@given(STEPS)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_any_sequence_of_methods_is_served(steps: Any) -> None:
    server = Peer(limits=LIMITS)
    clients = [Watched(server), Watched(server)]
    for who, channel, what in steps:
        clients[who].step(channel, what)
        for client in clients:
            client.listen()
    _, host = server.virtual_hosts.popitem()
    held = [
        delivery
        for each in clients
        for channel in each.client.peer.channels.values()
        for delivery in (*channel.unacknowledged.values(), *channel.withheld)
    ]
    for queue in host.queues.values():
        assert queue.unacknowledged == sum(delivery.entry.queue is queue for delivery in held)
        assert all(consumer.alive for consumer in queue.consumers)
    for each in clients:
        consumed = [
            delivery
            for delivery in held
            if delivery.consumer and delivery.consumer.channel.connection is each.client.peer
        ]
        assert each.client.peer.window.messages == len(consumed)


FRAMES = st.builds(
    RawFrame,
    st.sampled_from([METHOD, HEADER, BODY, HEARTBEAT, 0, 65]),
    st.integers(0, 2),
    st.one_of(st.binary(max_size=40), methods(SERVED).map(lambda method: method.encode())),
    st.one_of(st.none(), st.integers(0, 50), st.just(1 << 31)),
    st.sampled_from([b"\xce", b"\xce", b"\xce", b"\0", b""]),
)
OCTETS = st.one_of(st.binary(max_size=60), FRAMES.map(lambda frame: frame.encode()))


@given(st.lists(OCTETS, max_size=12), st.sampled_from(["before", "negotiating", "open"]))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_octets_are_answered_or_refused(octets: Any, stage: Any) -> None:
    server = Peer(limits=LIMITS)
    client = Client(server, opened=stage == "open", channels=1 if stage == "open" else 0)
    if stage == "negotiating":
        client.send(PROTOCOL_HEADER, START_OK)
    for each in octets:
        client.peer.receive(each)
    now = 0.0
    while (timer := client.peer.next_timer()) is not None:
        assert timer >= now
        now = timer
        client.peer.tick(now)
    client.listen()
    client.peer.hang_up()
    assert client.ended()


@given(st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_stream_may_be_cut_anywhere(data: Any) -> None:
    stream = b"".join(
        [
            PROTOCOL_HEADER,
            *(
                method_frame(0, each).encode()
                for each in (START_OK, Connection.TuneOk(0, 4096, 0), Connection.Open("/"))
            ),
            method_frame(1, Channel.Open()).encode(),
            method_frame(1, Queue.Declare("q")).encode(),
        ]
    )
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=8)))
    client = Client(Peer(), opened=False)
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        client.peer.receive(stream[start:end])
    assert len(client.listen()) == 5
