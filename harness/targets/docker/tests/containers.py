"""A small image and a stub of a broker in it: what tests of containers need, or skip without."""

from __future__ import annotations

import io
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import docker
from docker.errors import ImageNotFound
from pamqp import commands, frame

from harness.targets.docker.description import parse
from harness.targets.docker.target import ContainerTarget
from harness.targets.docker.tests.required import without

BUSYBOX = "amqp-conformance/busybox:test"
HEARD = (
    (0, commands.Connection.Start(0, 9, {}, "PLAIN", "en_US")),
    (0, commands.Connection.Tune(10, 8192, 0)),
    (0, commands.Connection.OpenOk()),
    (1, commands.Channel.OpenOk()),
    (2, commands.Channel.OpenOk()),
    (3, commands.Channel.OpenOk()),
    (0, commands.Connection.CloseOk()),
)
"""All that a client hears which opens a connection and three channels, whatever it says meanwhile."""
SPOKEN = "".join(f"\\{octet:03o}" for channel, each in HEARD for octet in frame.marshal(each, channel))
TEXT = f"""
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
image = "{BUSYBOX}"
ports = {{ amqp = 5672 }}
within = 20
patience = 1
command = ["nc", "-ll", "-p", "{{port.amqp}}", "-e", "sh", "/serve"]
environment = {{ OF = "{{user}}" }}
[container.files]
"/serve" = '''printf '{SPOKEN}'; cat >/dev/null'''
[facilities.make]
arguments = {{ name = "thing-{{unique}}" }}
steps = [{{ run = ["sh", "-c", "test $OF = ann && test {{name}} != bad || {{ echo it is bad; exit 4; }}"] }}]
returns = {{ made = "{{name}}", by = "{{user}}" }}
[facilities.stock]
makes = 3
steps = []
arguments = {{ name = "{{unique}}" }}
returns = {{ made = "{{name}}-{{number}}" }}
[facilities.restart]
steps = [{{ engine = "restart" }}, {{ await = "amqp" }}]
"""


def make_busybox(engine: docker.DockerClient) -> None:
    """Make an image of one program that has a volume, unless it is there."""
    try:
        engine.images.get(BUSYBOX)
        return
    except ImageNotFound:
        pass
    program = shutil.which("busybox")
    if program is None or b"/ld-linux" in Path(program).read_bytes():
        without("a static busybox not found; the Debian package busybox-static brings it")
    assert program is not None
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        archive.add(program, "bin/busybox")
        for name in ("sh", "nc", "cat", "sleep", "echo", "test"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    repository, _, tag = BUSYBOX.partition(":")
    engine.api.import_image_from_data(written.getvalue(), repository, tag, changes=["VOLUME /data"])


def image_of(engine: docker.DockerClient, suite: str) -> str:
    """Name the image of RabbitMQ that ci/brokers/build-image has made of a suite of Debian's."""
    for image in engine.images.list(filters={"label": f"amqp-conformance.suite={suite}"}):
        for tag in image.tags:
            return tag
    without(f"no image of {suite}; ci/brokers/build-image {suite} makes one")
    raise AssertionError


def stub(*command: str, within: float = 20, image: str = BUSYBOX) -> ContainerTarget:
    """Make a broker that opens connections, or does whatever `command` does instead."""
    described = parse(TEXT, "stub.toml")
    described = replace(described, within=within, command=command or described.command)
    return ContainerTarget("stub", image, described)
