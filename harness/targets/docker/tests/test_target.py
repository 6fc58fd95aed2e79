"""Brokers in containers: started, asked, and gone afterwards, however the suite ends."""

import gc
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import NotFound

from harness.dialect import dialect
from harness.targets.docker import custody as container_custody
from harness.targets.docker import target as container
from harness.targets.docker.bridge import bridged
from harness.targets.docker.custody import OWNER, RUN, gone, owner
from harness.targets.docker.engine import NoEngine, connect
from harness.targets.docker.target import ContainerTarget
from harness.targets.docker.tests.containers import make_busybox, stub
from harness.targets.docker.tests.required import an_engine
from harness.targets.named import attach, clean, known_targets, target
from harness.targets.process import accepts, free_ports
from harness.targets.target import TargetError
from harness.wire.transport import HalfClosing, Locatable, Unreachable

# -- without an engine ---------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:1", "nonsense://x"])
def test_a_missing_engine_gets_a_sentence(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(
        NoEngine, match=f"a container engine is needed, and none answers at {host}: "
    ) as raised:
        target("docker:rabbitmq").start()
    assert "\n" not in str(raised.value)
    known = {each.name: each for each in known_targets()}
    assert "none answers at" in known["docker:rabbitmq-4"].why
    assert not known["docker:IMAGE"].starts_here


def test_a_missing_engine_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    gc.collect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(NoEngine):
            target("docker:rabbitmq").start()
        gc.collect()
    assert [str(each.message) for each in warned] == []


def test_an_engine_of_another_machine_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://engine.example:2375")
    with pytest.raises(NoEngine, match=r"on this machine is needed; tcp://engine.example:2375 is another's"):
        target("docker:rabbitmq").start()


def test_without_an_engine_nothing_can_have_been_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr("harness.targets.docker.engine.SOCKET", "unix:///nowhere/docker.sock")
    assert container_custody.clean_up() == []
    monkeypatch.setenv("DOCKER_HOST", "unix:///elsewhere/docker.sock")
    with pytest.raises(NoEngine, match="none answers at"):
        container_custody.clean_up()


def test_an_owner_is_known_to_be_gone_only_where_it_can_be_seen() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    host, boot, namespace, pid, started = owner().split("/")
    assert gone(owner()) is False
    assert gone(f"{host}/{boot}/{namespace}/{ended.pid}/1") is True
    assert gone(f"{host}/{boot}/{namespace}/{pid}/{started}1") is True
    assert gone(f"{host}/another/{namespace}/{pid}/{started}") is True
    assert gone(f"{host}/{boot}/another/{pid}/{started}") is None
    assert gone(f"another/{boot}/{namespace}/{ended.pid}/1") is None
    assert gone("") is None


def test_what_is_not_running_says_so() -> None:
    one = stub()
    assert one.attachment()["container"] == ""
    assert one.logs() == {}
    assert one.describe()["endpoint"] == ""
    for ask in (one.endpoint, lambda: one.use("restart"), lambda: one.engine("kill")):
        with pytest.raises(TargetError, match="docker:stub is not running"):
            ask()
    one.stop()


# -- a stub in a container -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    client = an_engine()
    make_busybox(client)
    yield client
    client.close()


def test_the_engine_is_asked_without_reading_all_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    an_engine().close()

    def read(*_: object, **__: object) -> None:
        raise KeyError("PYTEST_CURRENT_TEST")  # what a thread met while pytest went on to the next test

    monkeypatch.setattr("requests.sessions.get_environ_proxies", read)
    client = connect(20)
    assert client.version()
    client.close()


def labelled(engine: docker.DockerClient, run: str) -> list[Any]:
    found: list[Any] = engine.api.containers(all=True, filters={"label": f"{RUN}={run}"})
    return found


def is_there(engine: docker.DockerClient, identity: str) -> bool:
    try:
        engine.api.inspect_container(identity)
    except NotFound:
        return False
    return True


def goes(engine: docker.DockerClient, identity: str) -> bool:
    """Say whether the container goes; a guard is nobody's child and takes its time."""
    deadline = time.monotonic() + 60
    while is_there(engine, identity) and time.monotonic() < deadline:
        os.sched_yield()
    return not is_there(engine, identity)


def test_stop_leaves_nothing_but_the_logs(engine: docker.DockerClient) -> None:
    one = stub()
    one.start()
    one.start()
    identity = one.attachment()["container"]
    about = engine.api.inspect_container(identity)
    (volume,) = (mount["Name"] for mount in about["Mounts"])
    assert {each["HostIp"] for each in about["HostConfig"]["PortBindings"]["5672/tcp"]} == {"127.0.0.1"}
    assert dialect("0-9-1").speaker.probe(one).round_trip >= 0
    described = one.describe()
    assert described["image_id"] == about["Image"]
    assert described["endpoint"] == one.endpoint().url()
    port = one.attachment()["ports"]["amqp"]
    assert accepts(port)
    one.stop()
    one.stop()
    assert not is_there(engine, identity)
    assert volume not in {each["Name"] for each in engine.api.volumes()["Volumes"] or ()}
    assert not accepts(port)
    with pytest.raises(TargetError, match="is not running"):
        one.endpoint()


def test_a_container_that_ends_at_once_is_reported_with_its_last_words(engine: docker.DockerClient) -> None:
    one = stub("sh", "-c", "echo one; echo two; echo three; echo four; exit 7")
    with pytest.raises(TargetError, match="ended with status 7 before it was ready: two / three / four"):
        one.start()
    assert one.logs() == {"broker.log": b"one\ntwo\nthree\nfour\n"}


def test_a_container_that_never_serves_is_reported(engine: docker.DockerClient) -> None:
    with pytest.raises(TargetError, match=r"was not ready within 1 s: .*cannot be reached"):
        stub("sleep", "600", within=1).start()


def test_a_program_that_is_not_in_the_image_is_reported(engine: docker.DockerClient) -> None:
    with pytest.raises(TargetError, match=r"docker:stub could not be started: .*no such file"):
        stub("/nonsense").start()


def test_a_missing_image_is_reported_when_it_cannot_be_pulled(engine: docker.DockerClient) -> None:
    missing = "localhost:1/absent:1 is not on this machine and could not be pulled: .*connection refused"
    with pytest.raises(TargetError, match=missing):
        target("docker:localhost:1/absent:1").start()


def test_a_name_that_no_image_can_have_is_reported(engine: docker.DockerClient) -> None:
    with pytest.raises(TargetError, match=r"the image UPPER could not be looked for: .*must be lowercase"):
        target("docker:UPPER").start()


def test_a_taken_port_is_tried_again_and_then_reported(
    engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = {"amqp": listener.getsockname()[1]}
        monkeypatch.setattr(container, "free_ports", lambda names: taken)
        with pytest.raises(TargetError, match=f"port {taken['amqp']} on 127.0.0.1 is taken"):
            stub().start()
        offered = iter([taken, free_ports(("amqp",))])
        monkeypatch.setattr(container, "free_ports", lambda names: next(offered))
        with stub() as one:
            assert one.attachment()["ports"] != taken


def test_facilities_run_inside(engine: docker.DockerClient) -> None:
    with stub() as one:
        assert one.use("make", "it") == {"made": "it", "by": "ann"}
        with pytest.raises(TargetError, match=r"'make' failed: sh ended with status 4: it is bad"):
            one.use("make", "bad")
        with pytest.raises(TargetError, match=r"nonsense could not be run|nonsense ended with status 12[67]"):
            one._execute(("nonsense",))
        with pytest.raises(TargetError, match="no facility 'fly'"):
            one.use("fly")


def test_a_command_inside_that_does_not_end_is_reported(engine: docker.DockerClient) -> None:
    with stub() as owner:
        given = owner.attachment()
        one = stub(within=2).attach(given["container"], given["ports"], given["bridged"])
        for command in ("sleep 600", "while true; do echo on and on; done"):
            with pytest.raises(TargetError, match="sh did not end within 2 s"):
                one._execute(("sh", "-c", command))


def test_what_attached_restarts_keeps_its_port_and_the_owner_still_ends_it(
    engine: docker.DockerClient,
) -> None:
    with stub() as one:
        given = one.attachment()
        identity = given["container"]
        other = stub().attach(identity, given["ports"], given["bridged"])
        before = engine.api.inspect_container(identity)["State"]["StartedAt"]
        other.use("restart")
        assert engine.api.inspect_container(identity)["State"]["StartedAt"] != before
        assert accepts(given["ports"]["amqp"])
        dialect("0-9-1").speaker.probe(other)
        other.stop()
        assert is_there(engine, identity)
    assert not is_there(engine, identity)


def test_a_worker_attaches_by_what_it_is_given(engine: docker.DockerClient) -> None:
    given = {"kind": "docker", "rest": "rabbitmq", "container": "x", "ports": {"amqp": 1}}
    for address, host, port in (("", "127.0.0.1", 1), ("172.17.0.9", "172.17.0.9", 5672)):
        one = attach(given | {"bridged": address})
        assert isinstance(one, ContainerTarget)
        assert (one.endpoint().host, one.endpoint().port) == (host, port)
        assert one.attachment() == given | {"bridged": address}


def test_only_a_bridge_of_this_machine_is_taken() -> None:
    assert bridged({}) == ""
    assert bridged({"host": {"IPAddress": "", "Gateway": ""}}) == ""
    # We speak to the loopback interface as 127.0.0.1: it stands for a bridge, being there on every machine.
    assert bridged({"a": {"IPAddress": "127.0.0.9", "Gateway": "127.0.0.1"}}) == "127.0.0.9"
    assert bridged({"a": {"IPAddress": "127.0.0.9", "Gateway": "10.99.0.1"}}) == ""


def test_behind_the_proxy_no_end_is_taken_for_the_brokers(
    engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stub() as one:
        transport = one.connect("0-9-1")
        assert isinstance(transport, HalfClosing) == bool(one.attachment()["bridged"])
        transport.close()
    monkeypatch.setattr(container, "bridged", lambda networks: "")
    with stub() as one:
        assert one.endpoint().host == "127.0.0.1"
        dialect("0-9-1").speaker.probe(one)
        transport = one.connect("0-9-1")
        assert not isinstance(transport, HalfClosing)
        assert isinstance(transport, Locatable)
        assert not transport.local
        transport.close()


def test_the_engine_can_pause_and_kill_it(engine: docker.DockerClient) -> None:
    with stub() as one:
        one.engine("pause")
        with pytest.raises(Unreachable):
            dialect("0-9-1").speaker.probe(one, 0.2)
        one.engine("unpause")
        dialect("0-9-1").speaker.probe(one)
        one.engine("kill")
        with pytest.raises(TargetError, match="ended with status 137"):
            one._await()
        with pytest.raises(TargetError, match=r"the engine could not kill the container: .*not running"):
            one.engine("kill")
        one.engine("start")
        one._await()


OWNING = """
import sys
from harness.targets.docker import custody as container_custody
from harness.targets.docker.tests.containers import stub
container_custody.RUN = sys.argv[1]
one = stub()
one.start()
print(one.attachment()["container"], one._custody._guard.pid, flush=True)
sys.stdin.read()
"""


def an_owner(label: str = RUN) -> tuple["subprocess.Popen[str]", str, int]:
    """Start a process that has started a container with this label; return it, the container, its guard."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNING, label],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path(container.__file__).parents[3])},
        text=True,
    )
    assert process.stdout is not None
    identity, guard = process.stdout.readline().split()
    return process, identity, int(guard)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_guard_clears_up_after_an_owner_that_is_killed(
    number: signal.Signals, engine: docker.DockerClient
) -> None:
    process, identity, guard = an_owner()
    assert is_there(engine, identity)
    process.send_signal(number)
    process.communicate()
    assert goes(engine, identity)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{guard}").exists() and time.monotonic() < deadline:
        os.sched_yield()
    assert not Path(f"/proc/{guard}").exists()


def test_what_is_left_without_a_guard_is_cleaned_up_unless_its_run_goes_on(
    engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A label of its own: the sweep of another test must not come first.
    monkeypatch.setattr(container_custody, "RUN", "amqp-conformance.test")
    process, identity, guard = an_owner("amqp-conformance.test")
    name = engine.api.inspect_container(identity)["Name"].lstrip("/")
    try:
        assert not any(name in sentence for sentence in clean())
        assert is_there(engine, identity)
    finally:
        os.kill(guard, signal.SIGKILL)
        process.kill()
        process.communicate()
    assert is_there(engine, identity)
    assert any(name in sentence for sentence in clean())
    assert not is_there(engine, identity)


def test_a_container_out_of_sight_is_left_alone(engine: docker.DockerClient) -> None:
    labels = {RUN: "out-of-sight", OWNER: "another/boot/namespace/1/1"}
    made = engine.containers.create("amqp-conformance/busybox:test", ["sleep", "600"], labels=labels)
    try:
        assert any(str(made.name) in name for name in container_custody.sweep(engine).elsewhere)
        assert labelled(engine, "out-of-sight")
    finally:
        made.remove(v=True)


def test_an_engine_that_does_not_remove_it_is_told_and_the_guard_tries_on(
    engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = stub()
    one.start()
    identity = one.attachment()["container"]

    def gone_away(client: docker.DockerClient, label: str) -> list[Any]:
        raise NoEngine("it went away")

    with monkeypatch.context() as patched:
        patched.setattr(container_custody, "_found", gone_away)
        one.stop()
    left = one.logs()["leftover.txt"].decode()
    assert left.startswith("docker:stub may be left behind: it went away; amqp-conformance targets clean")
    assert goes(engine, identity)


def test_a_start_that_is_interrupted_leaves_nothing(
    engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = stub()
    seen = []

    def interrupted() -> None:
        seen.append(one.attachment()["container"])
        raise KeyboardInterrupt

    monkeypatch.setattr(one, "_shake_hands", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.start()
    assert not is_there(engine, seen[0])
