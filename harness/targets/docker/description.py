"""Descriptions of brokers in containers: how an image is started, reached and asked for facilities.

Product, endpoint and facilities are described as for a process (`harness/targets/description.py`), but for
`[endpoint.tls]`, which a container cannot have. `[container]`:

- `images`: patterns of the images that this file is about, such as `"rabbitmq:*"`; a pattern is held against
  the image's name with its tag ("latest" unless given), and the longest one that fits decides;
- `image`: the one that is started when the target is given by the name of this file;
- `ports`: a name for each port that it listens on inside, and its number; each is published on a free port of
  the loopback interface, and keeps it over a restart;
- `within`: seconds until it serves, or a command has ended; `patience`: seconds that the engine gives it to
  end by itself on a restart; `workers` and `apart`: how many cases are judged at once, and which one by one;
- `environment`: added to the image's own; `command`: instead of the image's own; `files`: by absolute path,
  written before the start and readable by all;
- `version`: a command inside that prints the version, where the image's name is not enough.

It is ready when it opens a connection in every one of `protocols`. `steps` of a facility are `{run = [...]}`,
a command inside the container; `{await = PORT}`, until it is ready again; and `{engine = VERB}`, one of
`restart`, `pause`, `unpause`, `kill`, `start`.

In `returns`, `{log}`, `{clients}` and `{kept-alive}` are what they are for a process.

Texts may hold `{port.NAME}`, the number inside, `{user}`, `{password}`, `{virtual_host}`, and in facilities
their own arguments, whose defaults may hold `{unique}`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.targets.description import PLACEHOLDER, SEEN, Described, Facility, Login, bundled, form, shared
from harness.targets.strict_toml import Table, read

VERBS = ("restart", "pause", "unpause", "kill", "start")
"""What the engine can do to a container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerDescription(Described):
    """A broker in a container, as described in a file; see the module for the keys."""

    images: tuple[str, ...]
    image: str
    ports: Mapping[str, int]
    command: tuple[str, ...]

    def values(self) -> dict[str, str]:
        """Give the value of each placeholder."""
        login = self.login
        return {
            "user": login.user,
            "password": login.password,
            "virtual_host": login.virtual_host,
            **{f"port.{name}": str(number) for name, number in self.ports.items()},
        }


def containers() -> dict[str, ContainerDescription]:
    return {
        name: parse(text, f"{name}.toml")
        for name, text in bundled().items()
        if form(read(text, f"{name}.toml")) == "container"
    }


def describing(image: str) -> ContainerDescription:
    """Give the description that fits `image`; where none does, that of a plain broker on the usual port."""
    known = containers().values()
    fitting = {pattern: each for each in known for pattern in each.images if fits(image, pattern)}
    return fitting[max(fitting, key=len)] if fitting else plain(image)


def fits(image: str, pattern: str) -> bool:
    """Say whether `pattern` is about `image`; Docker's own registry and the tag "latest" may be left out."""
    name, _, digest = image.removeprefix("docker.io/").removeprefix("library/").partition("@")
    tagged = ":" in name.rpartition("/")[2]
    return fnmatchcase(name if tagged else f"{name}:{digest or 'latest'}", pattern)


def plain(image: str) -> ContainerDescription:
    """Describe an image that no file describes: port 5672, guest and guest, and no facilities."""
    return ContainerDescription(
        product="",
        about="an image that no description fits",
        protocols=None,
        documents=frozenset(),
        login=Login("amqp", "guest", "guest", "/"),
        version=(),
        within=120.0,
        workers=4,
        apart=(),
        patience=10.0,
        files={},
        calm={},
        environment={},
        facilities={},
        images=(),
        image=image,
        ports={"amqp": 5672},
        command=(),
    )


def parse(text: str, source: str) -> ContainerDescription:
    """Read the description of a container; `source` names it in errors. Raises TargetError, one sentence."""
    top = read(text, source)
    if form(top) != "container":
        raise top.wrong(f"it describes a {form(top)}, not a container")
    login, container = top.table("endpoint"), top.table("container")
    if login.has("tls"):
        raise login.wrong("tls means nothing in a container: its files would lie inside")
    described = ContainerDescription(
        **shared(top, login, container, ("run", "await", "engine")),
        version=container.texts("version", needed=False),
        images=container.texts("images"),
        image=container.text("image"),
        ports=container.numbers("ports"),
        command=container.texts("command", needed=False),
    )
    top.finish()
    _check(described, container)
    return described


def _check(described: ContainerDescription, container: Table) -> None:
    """Raise TargetError for a reference to what is not there, or a placeholder unknown in a container."""
    if wrong := [name for name, number in described.ports.items() if not 0 < number < 65536]:
        raise container.wrong(f"ports: {', '.join(wrong)} is not a number from 1 to 65535")
    if described.login.port not in described.ports:
        raise container.wrong(f"port {described.login.port} is used but not declared")
    if wrong := [path for path in described.files if not path.startswith("/") or path.endswith("/")]:
        raise container.wrong(f"files: {', '.join(wrong)} is not the absolute path of a file")
    known = set(described.values())
    texts = [*described.command, *described.version]
    _check_texts(container, [*texts, *described.environment.values(), *described.files.values()], known)
    for facility in described.facilities.values():
        _check_facility(container, described.login.port, facility, known)


def _check_facility(container: Table, port: str, facility: Facility, known: set[str]) -> None:
    for action, operands in facility.steps:
        if action == "engine" and operands[0] not in VERBS:
            raise container.wrong(f"the engine has no verb {operands[0]}; it has {', '.join(VERBS)}")
        if action == "await" and operands[0] != port:
            raise container.wrong(
                f"port {operands[0]} cannot be awaited; {port}, where the protocol is spoken, can"
            )
    used = [text for _, operands in facility.steps for text in operands]
    known = known | set(facility.arguments) | {"makes"}
    _check_texts(container, used, known)
    _check_texts(container, facility.returns.values(), known | set(SEEN) | {"number"})
    _check_texts(container, facility.arguments.values(), {"unique"})


def _check_texts(container: Table, texts: Iterable[str], known: set[str]) -> None:
    for name in (name for text in texts for name in PLACEHOLDER.findall(text) if name not in known):
        raise container.wrong(
            f"the placeholder {{{name}}} means nothing here; known are {', '.join(sorted(known))}"
        )
