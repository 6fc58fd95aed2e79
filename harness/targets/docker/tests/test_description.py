"""Descriptions of containers: read strictly, found by the name of an image, every placeholder checked."""

from pathlib import Path

import pytest

from harness.targets import description
from harness.targets.description import descriptions
from harness.targets.docker.description import containers, describing, fits, parse, plain
from harness.targets.docker.target import container_target
from harness.targets.given import also
from harness.targets.named import target
from harness.targets.target import TargetError

TEXT = """
product = "stub"
about = "a stub"
protocols = ["0-9-1"]
[endpoint]
port = "amqp"
user = "ann"
password = "word"
virtual_host = "/"
[container]
images = ["stub:*"]
image = "stub:1"
ports = { amqp = 5672, other = 8080 }
within = 20
patience = 5
environment = { PORT = "{port.amqp}" }
command = ["serve", "{port.other}"]
[container.files]
"/etc/stub.conf" = "user = {user}, {password}, {virtual_host}, { left alone }"
[facilities.make]
arguments = { name = "thing-{unique}" }
steps = [{ run = ["make", "{name}", "{user}"] }, { engine = "restart" }, { await = "amqp" }]
returns = { made = "{name}" }
"""


def test_a_description_is_read() -> None:
    read = parse(TEXT, "stub.toml")
    assert read.ports == {"amqp": 5672, "other": 8080}
    assert read.workers == 4
    assert read.version == ()
    assert read.facilities["make"].steps == (
        ("run", ("make", "{name}", "{user}")),
        ("engine", ("restart",)),
        ("await", ("amqp",)),
    )
    assert read.values()["port.other"] == "8080"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[container]", "[container]\nlinks = []", "links is not a key that is known here"),
        ('image = "stub:1"', "", "container: image is missing"),
        ('images = ["stub:*"]', "images = []", "images must be a list of strings"),
        ("amqp = 5672", "amqp = 0", "ports: amqp is not a number from 1 to 65535"),
        ("amqp = 5672", 'amqp = "5672"', "ports must hold whole numbers"),
        ("amqp = 5672", "amqp = true", "ports must hold whole numbers"),
        ('port = "amqp"', 'port = "amqps"', "port amqps is used but not declared"),
        ('user = "ann"', 'user = "ann"\ntls = { ca = "x" }', "tls means nothing in a container"),
        ("/etc/stub.conf", "etc/stub.conf", "files: etc/stub.conf is not the absolute path of a file"),
        ("/etc/stub.conf", "/etc/", "files: /etc/ is not the absolute path of a file"),
        (
            "user = {user}",
            "user = {directory}",
            r"the placeholder \{directory\} means nothing here; known are",
        ),
        ('"serve", ', '"{fetched}/serve", ', r"the placeholder \{fetched\} means nothing here"),
        ('PORT = "{port.amqp}"', 'PORT = "{port.x}"', r"the placeholder \{port.x\} means nothing here"),
        ('"make", ', '"{logs}", ', r"the placeholder \{logs\} means nothing here"),
        ('made = "{name}"', 'made = "{other}"', r"the placeholder \{other\} means nothing here"),
        ("thing-{unique}", "thing-{user}", r"the placeholder \{user\} means nothing here; known are unique"),
        ('engine = "restart"', 'engine = "explode"', "the engine has no verb explode; it has restart, pause"),
        ('await = "amqp"', 'await = "other"', "port other cannot be awaited; amqp, where the protocol"),
        ('engine = "restart"', 'stop = "broker"', "has stop where one of run, await, engine belongs"),
        ("[container]", "[process]\n[container]", "it has both process and container"),
    ],
)
def test_a_wrong_description_gets_a_sentence(old: str, new: str, reason: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(TargetError, match=reason) as raised:
        parse(TEXT.replace(old, new), "stub.toml")
    assert str(raised.value).startswith("stub.toml: ")
    assert "\n" not in str(raised.value)


def test_a_container_is_no_process() -> None:
    with pytest.raises(TargetError, match=r"stub\.toml: it describes a container, not a process"):
        description.parse(TEXT, "stub.toml")
    with pytest.raises(TargetError, match=r"stub\.toml: it describes a process, not a container"):
        parse(TEXT.replace("[container", "[process"), "stub.toml")


def test_the_forms_are_kept_apart() -> None:
    assert {"rabbitmq-3", "rabbitmq-4"} <= containers().keys()
    assert not containers().keys() & descriptions().keys()


@pytest.mark.parametrize(
    ("image", "pattern", "fitting"),
    [
        ("rabbitmq", "rabbitmq:*", True),
        ("rabbitmq:4.0", "rabbitmq:4.*", True),
        ("rabbitmq", "rabbitmq:4.*", False),
        ("docker.io/library/rabbitmq:4", "rabbitmq:*", True),
        ("amqp-conformance/rabbitmq:3.10", "*/rabbitmq:*", True),
        ("localhost:5000/rabbitmq", "*/rabbitmq:latest", True),
        ("rabbitmq@sha256:0123", "rabbitmq:*", True),
        ("rabbitmq:4@sha256:0123", "rabbitmq:4", True),
        ("rabbitmq-exporter:1", "rabbitmq:*", False),
        ("notrabbitmq:1", "*/rabbitmq:*", False),
    ],
)
def test_a_pattern_is_about_images(image: str, pattern: str, fitting: bool) -> None:
    assert fits(image, pattern) == fitting


def test_an_image_finds_its_description() -> None:
    known = containers()["rabbitmq-3"]
    assert describing("amqp-conformance/rabbitmq:3.10") == known
    assert container_target("rabbitmq").product == "rabbitmq"
    assert target("docker:rabbitmq-3").facilities == set(known.facilities)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("rabbitmq:3.13-management-alpine", "rabbitmq-3"),
        ("rabbitmq:3", "rabbitmq-3"),
        ("rabbitmq:4.2", "rabbitmq-4"),
        ("rabbitmq", "rabbitmq-4"),
        ("docker.io/cloudamqp/lavinmq:2.6.8", "lavinmq"),
        ("apache/activemq-artemis:2.44.0-alpine", "activemq-artemis"),
        ("apache/activemq-classic", "activemq-classic"),
        ("apache/qpid-broker-j:9.2.0-alpine", "qpid-broker-j"),
    ],
)
def test_public_images_find_theirs(image: str, name: str) -> None:
    assert describing(image) == containers()[name]


def test_an_image_that_nobody_describes_is_taken_plainly() -> None:
    one = target("docker:example.org/some/broker:7")
    assert one.protocols is None
    assert not one.facilities
    assert describing("example.org/some/broker:7") == plain("example.org/some/broker:7")


def test_the_longest_pattern_decides(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TEXT.replace("stub:*", "amqp-conformance/rabbitmq:3.*"))
    with also([tmp_path / "mine.toml"]):
        assert describing("amqp-conformance/rabbitmq:3.10").product == "stub"
        assert describing("amqp-conformance/rabbitmq:4.0").product == "rabbitmq"
        assert target("docker:mine").name == "docker:mine"


@pytest.mark.parametrize("name", ["docker:", "docker: x", "docker:a b"])
def test_what_can_be_no_image_gets_a_sentence(name: str) -> None:
    with pytest.raises(TargetError, match=r"docker: wants an image, or one of activemq-.*, rabbitmq-4"):
        target(name)
