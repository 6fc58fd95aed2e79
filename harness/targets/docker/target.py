"""Brokers in containers: an image, loopback ports of its own, gone with its volumes when it stops.

How an image is started and asked is in its description (`harness/targets/docker/description.py`); nothing
here knows one. The ports are ours, not of the engine's choice: those would be others after a restart.
"""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Self

import docker
from docker.errors import APIError, ImageNotFound
from docker.types import Ulimit
from docker.utils import parse_repository_tag

from harness.dialect import dialect, documents
from harness.targets.described import DescribedTarget, said
from harness.targets.description import fill
from harness.targets.docker.bridge import BridgedTransport, ProxiedTransport, bridged
from harness.targets.docker.custody import ANSWER, ContainerCustody
from harness.targets.docker.description import ContainerDescription, containers, describing
from harness.targets.docker.engine import connect, must_be_here, place, speaking
from harness.targets.docker.inside import archive, execute
from harness.targets.process import LOOPBACK, accepts, free_ports
from harness.targets.sockets import TABLES
from harness.targets.target import Endpoint, Known, Target, TargetError, UrlTarget
from harness.wire.transport import Transport, Unreachable

POLL = 0.1  # seconds between two looks at a broker that is starting
ONE_LOOK = 5.0  # seconds
TRIES = 3  # to find ports that are still free when the engine takes them
LOOK_FOR_ENGINE = 2.0  # seconds
BUSY = "unable to freeze"
"""What the engine says where not all processes of a container stood still in the time it gives them."""
FREEZES = 5
"""So often is a container paused before that is its answer: a busy machine is no fault of the broker."""
SEALED_OFF = "a suite that runs in a container itself needs the network of the machine (--network host)"
OPEN_FILES = 8192
"""Some brokers make tables for as many as they may open, and an engine may allow a thousand million. One that
runs in a sandbox may give less than it has, but not more."""


class ContainerTarget(DescribedTarget):
    """A broker started from an image.

    The one that calls `start` owns it; others `attach` to the same container and ports, use facilities, and
    leave the end to the owner.
    """

    def __init__(self, named: str, image: str, description: ContainerDescription) -> None:
        super().__init__(f"docker:{named}", description)
        self.image = image
        self._key = named
        self._description = description
        self._engine: docker.DockerClient | None = None
        self._custody: ContainerCustody | None = None
        self._container = ""
        self._ports: dict[str, int] = {}
        self._bridged = ""
        self._kept_logs: Mapping[str, bytes] = {}

    def start(self) -> None:
        """Pull the image if it is not there, run it, and wait until it serves. Raises TargetError."""
        if self._custody is not None:
            return
        must_be_here()
        self._custody = ContainerCustody(self._client)
        try:
            self._bring()
            self._run()
            self._await()
            self._custody.check()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Remove the container and its volumes; `logs` stay readable, and say if that could not be done."""
        custody, self._custody = self._custody, None
        if custody is None:
            return
        self._kept_logs = self.logs() if self._container else {}
        self._container = self._bridged = ""
        try:
            custody.close()
        except TargetError as error:
            left = f"{self.name} may be left behind: {error}; amqp-conformance targets clean removes it.\n"
            self._kept_logs = {**self._kept_logs, "leftover.txt": left.encode()}
        self._client.close()
        self._engine = None

    def attachment(self) -> dict[str, Any]:
        """Give container and ports, for another process on this machine; no container before `start`."""
        return {
            "kind": "docker",
            "rest": self._key,
            "container": self._container,
            "ports": self._ports,
            "bridged": self._bridged,
        }

    def attach(self, container: str, ports: Mapping[str, int], bridged: str) -> Self:
        """Join a started target of the same name."""
        self._container, self._ports, self._bridged = container, dict(ports), bridged
        return self

    def endpoint(self) -> Endpoint:
        """Give its address on the bridge where we reach that, else on loopback, with the described user.

        Raises TargetError before `start`.
        """
        self._running()
        login, how = self._description.login, self.security.mechanism
        ports = self._description.ports if self._bridged else self._ports
        host, port = self._bridged or LOOPBACK, ports[login.port]
        return Endpoint(host, port, login.user, login.password, login.virtual_host, mechanism=how)

    def connect(self, document: str) -> Transport:  # noqa: ARG002 - over TCP every protocol has one port
        endpoint = self.endpoint()
        kind = BridgedTransport if self._bridged else ProxiedTransport
        return kind(endpoint.host, endpoint.port, self._zero)

    def logs(self) -> Mapping[str, bytes]:
        """Return what the broker wrote; after `stop` what it had written until then."""
        if not self._container:
            return self._kept_logs
        try:
            with speaking("the broker's log is not to be had"):
                written: bytes = self._client.api.logs(self._container)
        except TargetError as error:
            written = f"{error}\n".encode()
        return {"broker.log": written} if written else {}

    def describe(self) -> Mapping[str, object]:
        """Give product, image, version as it says itself, protocols, address and facilities."""
        described: dict[str, object] = {
            "kind": "container",
            "product": self.product,
            "image": self.image,
            "version": "",
            "protocols": sorted(self.protocols or ()),
            "facilities": sorted(self.facilities),
            "endpoint": "",
        }
        if not self._container:
            return described
        about = self._inspect()
        version = self._execute(self._description.version) if self._description.version else ""
        return described | {
            "image_id": about["Image"],
            "version": version.strip(),
            "endpoint": self.endpoint().url(),
        }

    def engine(self, verb: str) -> None:
        """Have the engine do one of `VERBS` to the container. Raises TargetError."""
        container = self._running()
        how = {"timeout": round(self._description.patience)} if verb == "restart" else {}
        for left in reversed(range(FREEZES)):
            try:
                with speaking(f"the engine could not {verb} the container"):
                    getattr(self._client.api, verb)(container, **how)
                break
            except TargetError as error:
                if not left or BUSY not in str(error):
                    raise
        if verb in ("restart", "start"):
            self._look_up()

    @property
    def _client(self) -> docker.DockerClient:
        if self._engine is None:
            self._engine = connect(max(ANSWER, self._description.within))
        return self._engine

    def _running(self) -> str:
        if not self._container:
            raise TargetError(f"{self.name} is not running.")
        return self._container

    def _values(self) -> dict[str, str]:
        self._running()
        return self._description.values()

    def _sockets(self) -> tuple[int, str]:
        port = self._description.ports[self._description.login.port]
        return port, self._execute(("cat", *map(str, TABLES)))

    def _step(self, action: str, operands: tuple[str, ...]) -> None:
        match action:
            case "run":
                self._execute(operands)
            case "await":
                self._await()
            case _:
                self.engine(operands[0])

    def _bring(self) -> None:
        with speaking(f"the image {self.image} could not be looked for"):
            try:
                self._client.images.get(self.image)
                return
            except ImageNotFound:
                pass
        repository, tag = parse_repository_tag(self.image)
        with speaking(f"the image {self.image} is not on this machine and could not be pulled"):
            self._client.images.pull(repository, tag=tag or "latest")

    def _run(self) -> None:
        """Start a container; if another process took a port meanwhile, start one with other ports."""
        for _ in range(TRIES):
            self._ports = free_ports(tuple(self._description.ports))
            self._container = self._create()
            with speaking(f"{self.name} could not be started"):
                try:
                    self._client.api.start(self._container)
                    self._look_up()
                    return
                except APIError as error:
                    if not _is_about_a_port(error):
                        raise
                    self._client.api.remove_container(self._container, v=True, force=True)
                    self._container = ""
        ports = ", ".join(map(str, self._ports.values()))
        raise TargetError(f"{self.name} could not be started: port {ports} on {LOOPBACK} is taken")

    def _look_up(self) -> None:
        """Find the address on the bridge; it may be another one after a restart."""
        self._bridged = bridged(self._inspect()["NetworkSettings"]["Networks"])

    def _create(self) -> str:
        described, values = self._description, self._description.values()
        assert self._custody is not None
        with speaking(f"{self.name} could not be created"):
            made = self._client.containers.create(
                self.image,
                command=[fill(word, values) for word in described.command] or None,
                environment={name: fill(text, values) for name, text in described.environment.items()},
                labels=self._custody.labels,
                name=f"amqp-conformance-{self._custody.run}",
                ports={
                    f"{described.ports[name]}/tcp": (LOOPBACK, port) for name, port in self._ports.items()
                },
                ulimits=[Ulimit(name="nofile", soft=OPEN_FILES, hard=OPEN_FILES)],
            )
            if self._files:
                made.put_archive(
                    "/", archive({name: fill(text, values) for name, text in self._files.items()})
                )
        return str(made.id)

    def _await(self) -> None:
        """Return when it serves. Raises TargetError when it has ended, or when time is over."""
        within = self._description.within
        deadline = time.monotonic() + within
        while True:
            try:
                return self._shake_hands()
            except Unreachable as failure:
                why = str(failure)
            self._must_live()
            if time.monotonic() > deadline:
                hint = "" if self._bridged or accepts(self.endpoint().port) else f"; {SEALED_OFF}"
                raise TargetError(f"{self.name} was not ready within {within:g} s: {why}{hint}")
            time.sleep(POLL)

    def _shake_hands(self) -> None:
        """Open a connection in each protocol it is said to speak, or in any where nobody says.

        That a port accepts connections means nothing: the engine accepts them in the broker's place.
        """
        # What a target says is remembered, and while it starts that is said by the engine: hence a stranger.
        stranger = UrlTarget(self.endpoint().url(with_password=True))
        stranger.secure(self.security)
        failures = []
        for each in sorted(self.protocols) if self.protocols else documents():
            try:
                dialect(each).speaker.probe(stranger, ONE_LOOK)
            except Unreachable as failure:
                failures.append(failure)
        if failures and (self.protocols or len(failures) == len(documents())):
            raise failures[0]

    def _must_live(self) -> None:
        state = self._inspect()["State"]
        if state["Status"] in ("exited", "dead"):
            ending = (
                "was killed for want of memory"
                if state["OOMKilled"]
                else f"ended with status {state['ExitCode']}"
            )
            written = self.logs().get("broker.log", b"").decode(errors="replace")
            raise TargetError(f"{self.name} {ending} before it was ready: {said(written, lines=3)}")

    def _inspect(self) -> dict[str, Any]:
        with speaking(f"{self.name} cannot be looked at"):
            return self._client.api.inspect_container(self._running())  # type: ignore[no-any-return]

    def _execute(self, command: tuple[str, ...]) -> str:
        return execute(self._client.api, self._running(), command, self._description.within)


def _is_about_a_port(error: APIError) -> bool:
    said_so = str(error.explanation or "")
    return "address already in use" in said_so or "port is already allocated" in said_so


def container_target(named: str) -> ContainerTarget:
    """Make the target `docker:NAMED`, not started; `named` is a described container or an image."""
    known = containers()
    if named in known:
        return ContainerTarget(named, known[named].image, known[named])
    if not named or named != named.strip() or any(map(str.isspace, named)):
        raise TargetError(f"docker: wants an image, or one of {', '.join(known)}")
    return ContainerTarget(named, named, describing(named))


def attach_container(given: Mapping[str, Any]) -> Target:
    """Attach to a container that another process has started, by its `attachment`."""
    return container_target(given["rest"]).attach(given["container"], given["ports"], given["bridged"])


def known_containers() -> tuple[Known, ...]:
    """List the described containers and any image, and whether each can start here."""
    described = containers()
    why, there = "", set[str]()
    try:
        must_be_here()
        with (
            closing(connect(LOOK_FOR_ENGINE)) as client,
            speaking(f"the engine at {place()} does not list its images"),
        ):
            there = {tag for image in client.api.images() for tag in image["RepoTags"] or ()}
    except TargetError as error:
        why = str(error)
    found = [
        Known(
            f"docker:{name}",
            not why and each.image in there,
            why or ("" if each.image in there else f"{each.image} is not here yet, a run pulls it"),
            each.about,
        )
        for name, each in described.items()
    ]
    return (
        *found,
        Known(
            "docker:IMAGE", not why, why, "any image: as a description says that fits its name, or plainly"
        ),
    )
