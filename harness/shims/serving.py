"""The part of a shim in Python that is not its library: commands by name, and lines in and out."""

from __future__ import annotations

import json
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from harness.shims.contract import Kind, Refused

Act = Callable[..., Mapping[str, Any]]


class Commands(ABC):
    """A shim whose commands are functions; implements harness.shims.contract.Shim."""

    @abstractmethod
    def acts(self) -> Mapping[str, Act]:
        """Give the commands by name."""

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Carry out a command. Raises Refused."""
        act = self.acts().get(command)
        if act is None:
            raise Refused(Kind.UNKNOWN, f"there is no command {command!r}")
        return act(**arguments)


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
