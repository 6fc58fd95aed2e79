"""Clients that do what no client should: our own one in this process, with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from conformance.interop.play.shims import InThisProcess, Start
from harness.amqp0_9_1.shims.own import Own
from harness.shims.contract import Kind, Refused, Shim, ShimLost

Change = Callable[[str, dict[str, Any], Shim], Mapping[str, Any]]
"""Does a command in its own way: takes its name, its arguments, and the client that would do it right."""


class Changed:
    """A client of which each command goes through a change."""

    def __init__(self, change: Change) -> None:
        self._shim, self._change = InThisProcess(Own()), change

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        return self._change(command, deepcopy(arguments), self._shim)

    def end(self) -> None:
        self._shim.end()


def starts(change: Change, started: list[Changed] | None = None) -> Start:
    """Give what starts such a client; every start is noted."""

    def start() -> tuple[Shim, Callable[[], None]]:
        shim = Changed(change)
        if started is not None:
            started.append(shim)
        return shim, shim.end

    return start


def header_of(arguments: Mapping[str, Any]) -> Any:
    """Give the header `v` that is to be sent, None where there is none."""
    fields = arguments.get("properties", {}).get("headers", {}).get("map", [])
    return next((value for name, value in fields if name == "v"), None)


def right(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    return shim.do(command, **arguments)


def widens(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Send each i8 as an i32."""
    value = header_of(arguments)
    if isinstance(value, Mapping) and "i8" in value:
        arguments["properties"]["headers"]["map"] = [["v", {"i32": value["i8"]}]]
    return shim.do(command, **arguments)


def forgets(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Tell no priority of a message."""
    told = shim.do(command, **arguments)
    if command == "get" and told["message"]:
        told["message"]["properties"].pop("priority", None)
    return told


def lacks(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Have no tables."""
    if header_of(arguments) is not None:
        raise Refused(Kind.UNSUPPORTED, "there are no tables here")
    return shim.do(command, **arguments)


def swallows(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Say that a message with a priority was sent, and send nothing."""
    if command == "send" and "priority" in arguments["properties"]:
        return {}
    return shim.do(command, **arguments)


def echoes_to_nobody(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Send another message again instead of a short one, for which the broker closes the channel."""
    if command != "echo" or arguments["token"] != "m0":
        return shim.do(command, **arguments)
    return shim.do("send", on=arguments["on"], exchange="nobody", key="", body="other")


def sends_to_nobody(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Send to an exchange that is not there."""
    return shim.do(command, **arguments | ({"exchange": "nobody"} if command == "send" else {}))


def dies(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """End amid a message with a priority."""
    if command == "send" and "priority" in arguments["properties"]:
        raise ShimLost("the shim ended amid send (status -11)")
    return shim.do(command, **arguments)


def is_overtaken(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Send what has a priority, and be told that it is all over before it can say so."""
    told = shim.do(command, **arguments)
    if command == "send" and "priority" in arguments["properties"]:
        shim.do("open", on=arguments["on"].partition("/")[0])  # whatever was sent before this has come
        raise Refused(Kind.CLOSED, "all over", "", "connection", 541)
    return told


def falls_over(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Fall over what comes with a priority."""
    told = shim.do(command, **arguments)
    if command == "get" and told["message"] and "priority" in told["message"]["properties"]:
        raise Refused(Kind.LOCAL, "a priority?", "mine.Surprise")
    return told


def never_connects(command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
    """Refuse to connect."""
    if command == "connect":
        raise Refused(Kind.LOCAL, "not here")
    return shim.do(command, **arguments)


class Late:
    """Say that a message with a priority was sent, and send nothing the first time."""

    def __init__(self) -> None:
        self._late = True

    def __call__(self, command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
        if self._late and command == "send" and "priority" in arguments["properties"]:
            self._late = False
            return {}
        return shim.do(command, **arguments)


class Ended:
    """Be ended by the broker behind every message but the first."""

    def __init__(self) -> None:
        self._sent = False

    def __call__(self, command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
        told = shim.do(command, **arguments)
        if command == "send" and self._sent:
            shim.do("send", on=arguments["on"], exchange="nobody", key="", body="other")
            shim.do("open", on=arguments["on"].partition("/")[0])  # the end of the channel has come before
        self._sent |= command == "send"
        return told


class Moody:
    """Tell the truth the first time, and another body from the second time on."""

    def __init__(self) -> None:
        self._told: set[int] = set()

    def __call__(self, command: str, arguments: dict[str, Any], shim: Shim) -> Mapping[str, Any]:
        told = shim.do(command, **arguments)
        if command == "get" and told["message"]:
            crc = told["message"]["crc32"]
            told["message"]["crc32"] = crc + 1 if crc in self._told else crc
            self._told.add(crc)
        return told
