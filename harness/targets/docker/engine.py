"""The container engine, and its failures as sentences. DOCKER_HOST says which one, as for its own tools."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
from docker.errors import APIError, DockerException
from requests.exceptions import ConnectionError as Broken
from requests.exceptions import RequestException, Timeout

from harness.targets.target import TargetError

LOCAL = "unix://"
SOCKET = f"{LOCAL}/var/run/docker.sock"


class NoEngine(TargetError):
    """No engine answers, or it has stopped answering."""


class _Api(docker.APIClient):
    """The engine's interface, reached without a proxy.

    To look for proxies, all of the environment is read; pytest changes it while other threads judge.
    """

    def merge_environment_settings(self, *args: Any, **kwargs: Any) -> Any:
        self.trust_env = False
        return super().merge_environment_settings(*args, **kwargs)


class _Client(docker.DockerClient):
    def __init__(self, **kwargs: Any) -> None:
        self.api = _Api(**kwargs)


def connect(within: float) -> docker.DockerClient:
    """Make a client of the engine that waits `within` seconds for each answer. Raises NoEngine."""
    failure = f"a container engine is needed, and none answers at {place()}"
    _look(failure, within)
    with speaking(failure):
        return _Client.from_env(timeout=max(1, round(within)))


def _look(failure: str, within: float) -> None:
    """Raise NoEngine where nobody listens at a socket of this machine: its client would leave one open."""
    if not place().startswith(LOCAL):
        return
    with socket.socket(socket.AF_UNIX) as looking:
        looking.settimeout(within)
        try:
            looking.connect(place().removeprefix(LOCAL))
        except OSError as error:
            raise NoEngine(f"{failure}: {_root(error)}") from None


def engine_is_meant() -> bool:
    """Say whether there is an engine to ask: one is named, or has its socket in the usual place."""
    return place() != SOCKET or Path(SOCKET.removeprefix(LOCAL)).exists()


def must_be_here() -> None:
    """Raise NoEngine where the engine is named as another machine's: its loopback interface is not ours."""
    named = urlsplit(place())
    away = named.hostname not in ("localhost", "127.0.0.1", "::1", socket.gethostname().lower())
    if away and named.scheme in ("tcp", "http", "https", "ssh"):
        raise NoEngine(f"a container engine on this machine is needed; {place()} is another's")


def place() -> str:
    """Say where the engine is looked for."""
    return os.environ.get("DOCKER_HOST") or SOCKET


@contextmanager
def speaking(failure: str) -> Iterator[None]:
    """Turn the engine's errors into TargetError, `failure` with its reason, or NoEngine where it is gone."""
    try:
        yield
    except APIError as error:
        raise TargetError(f"{failure}: {sentence(str(error.explanation or error))}") from None
    except Timeout:
        raise TargetError(f"{failure}: the engine did not answer in time") from None
    except (Broken, DockerException) as error:
        raise NoEngine(f"{failure}: {_root(error)}") from None
    except RequestException as error:
        raise TargetError(f"{failure}: {_root(error)}") from None


def _root(error: BaseException) -> str:
    """Find what the system said in the end; the client wraps it several times."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        inner = inner.__context__
    return sentence(str(error))


def sentence(text: str) -> str:
    """Put `text` in one line without its full stop, and shorten it at the front: the end matters more."""
    return " ".join(text.split())[-300:].rstrip(".")
