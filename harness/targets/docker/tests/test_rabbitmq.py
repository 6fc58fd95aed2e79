"""RabbitMQ in containers made from Debian's suites: every facility does inside what it is for."""

from collections.abc import Iterator

import docker
import pytest

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.wire.vocabulary import Channel, Queue
from harness.dialect import dialect
from harness.play.context import Context
from harness.play.promises import Promise
from harness.targets.docker.target import ContainerTarget, container_target
from harness.targets.docker.tests.containers import image_of
from harness.targets.target import Target
from harness.targets.tests.processes import logged
from harness.wire.journal import Unkept

SUITES = ("bookworm", "trixie", "sid")


@pytest.fixture(scope="module", params=SUITES)
def rabbitmq(request: pytest.FixtureRequest, engine: docker.DockerClient) -> Iterator[ContainerTarget]:
    """Give one container to all tests of a version."""
    with container_target(image_of(engine, request.param)) as one:
        yield one


def promise(document: str, facility: str) -> Promise:
    return dialect(document).speaker.promises()[facility]


def declared(one: Target, queue: Queue.Declare) -> bool:
    """Say whether a declaration on a connection of its own is answered by declare-ok."""
    session = dialect("0-9-1").speaker.session(one, Context(Unkept(), "test"))
    with session as broker:
        assert isinstance(broker, Broker)
        return isinstance(broker.channel().ask(queue, Queue.DeclareOk, Channel.Close), Queue.DeclareOk)


def test_both_protocols_are_spoken(rabbitmq: ContainerTarget) -> None:
    banners = [dialect(document).speaker.probe(rabbitmq) for document in ("0-9-1", "1-0")]
    assert {banner.product for banner in banners} == {"RabbitMQ"}
    assert rabbitmq.image.endswith(":" + ".".join(banners[0].version.split(".")[:2]))


@pytest.mark.parametrize(
    ("document", "facility"),
    [("0-9-1", "second-vhost"), ("0-9-1", "restricted-user"), ("1-0", "address"), ("1-0", "idle-timeout")],
)
def test_a_facility_gives_what_it_promises(rabbitmq: ContainerTarget, document: str, facility: str) -> None:
    assert promise(document, facility)(rabbitmq, rabbitmq.use(facility), 30.0)


def test_a_memory_alarm_is_raised_and_lifted(rabbitmq: ContainerTarget) -> None:
    rabbitmq.use("memory-alarm")
    try:
        assert logged(rabbitmq, b"memory resource limit alarm set")
    finally:
        rabbitmq.use("lift-memory-alarm")
    assert promise("0-9-1", "lift-memory-alarm")(rabbitmq, {}, 30.0)


@pytest.mark.parametrize("how", ["facility", "engine"])
def test_a_restart_keeps_what_is_durable_and_the_port(rabbitmq: ContainerTarget, how: str) -> None:
    before = rabbitmq.attachment()["ports"]
    assert declared(rabbitmq, Queue.Declare(f"kept-{how}", durable=True))
    assert not declared(rabbitmq, Queue.Declare(f"never-{how}", passive=True))
    if how == "facility":
        rabbitmq.use("restart")
    else:
        rabbitmq.engine("restart")
        rabbitmq._await()
    assert rabbitmq.attachment()["ports"] == before
    assert declared(rabbitmq, Queue.Declare(f"kept-{how}", passive=True, durable=True))
    assert not declared(rabbitmq, Queue.Declare(f"never-{how}", passive=True))
