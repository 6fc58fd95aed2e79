"""The part of a shim in Python that is not its library: commands by name, and lines in and out."""

import json
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Generic, TextIO, TypeVar

from harness.shims.contract import CONTRACT, Kind, Refused

Connection = TypeVar("Connection")
Channel = TypeVar("Channel")


class Commands:
    """A shim whose commands are functions; implements harness.shims.contract.Shim."""

    commands: Collection[str] = ("hello", "connect", "open", "call", "send", "get", "close", "reset")

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Carry out a command. Raises Refused."""
        if command not in self.commands:
            raise Refused(Kind.UNKNOWN, f"there is no command {command!r}")
        told: Mapping[str, Any] | None = getattr(self, command)(**arguments)
        return told or {}


class Library(Commands, ABC, Generic[Connection, Channel]):
    """A client library of Python's, by its name and version: what it has opened, under names of ours."""

    library: str
    version: str

    def __init__(self) -> None:
        self._connections: dict[str, Connection] = {}
        self._channels: dict[str, Channel] = {}
        self._opened = 0

    def hello(self) -> Mapping[str, Any]:
        """Say who we are."""
        named = {"library": self.library, "version": self.version, "language": "Python"}
        return {"contract": CONTRACT, **named, "protocol": "0-9-1"}

    def keep(self, connection: Connection) -> Mapping[str, Any]:
        """Give a new connection its name."""
        name = f"c{self._opened}"
        self._opened += 1
        self._connections[name] = connection
        return {"on": name}

    def reset(self) -> None:
        """Drop everything."""
        for connection in self._connections.values():
            self.drop(connection)
        self._connections.clear()
        self._channels.clear()

    @abstractmethod
    def drop(self, connection: Connection) -> None:
        """Drop the socket of a connection."""


def serve(shim: Commands, lines: Iterable[str] = sys.stdin, answers: TextIO = sys.stdout) -> None:
    """Do what each line says, and answer it, up to the end of the lines."""
    for line in lines:
        told = json.loads(line)
        number = told.pop("id")
        told.pop("within", None)
        try:
            answer: dict[str, Any] = {"ok": shim.do(told.pop("do"), **told)}
        except Refused as failure:
            answer = {"error": {"kind": failure.kind, "native": failure.native, "text": failure.text}}
        except Exception as failure:
            traceback.print_exc()
            native = type(failure).__name__
            answer = {"error": {"kind": Kind.INTERNAL, "native": native, "text": str(failure)}}
        answers.write(json.dumps({"id": number, **answer}) + "\n")
        answers.flush()
