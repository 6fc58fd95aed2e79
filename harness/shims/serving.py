"""The part of our own shims that is no library: commands by name, and lines in and out."""

import json
import sys
import traceback
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TextIO

from harness.shims.contract import Kind, Refused

EVERYWHERE = ("hello", "connect", "open", "wait", "send", "settle", "echo", "close", "reset")
"""Commands of both protocols."""


class Commands:
    """A shim whose commands are functions; implements harness.shims.contract.Shim."""

    commands: Collection[str] = EVERYWHERE

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Carry out a command. Raises Refused."""
        if command not in self.commands:
            raise Refused(Kind.UNKNOWN, f"there is no command {command!r}")
        told: Mapping[str, Any] | None = getattr(self, command)(**arguments)
        return told or {}


def serve(shim: Commands, lines: Iterable[str] = sys.stdin, answers: TextIO = sys.stdout) -> None:
    """Do what each line says, and answer it, up to the end of the lines."""
    for line in lines:
        told = json.loads(line)
        number = told.pop("id")
        within = told.pop("within", None)
        if told["do"] == "connect" and within:
            told["within"] = within
        try:
            answer: dict[str, Any] = {"ok": shim.do(told.pop("do"), **told)}
        except Refused as failure:
            answer = {"error": _told(failure)}
        except Exception as failure:
            traceback.print_exc()
            native = type(failure).__name__
            answer = {"error": {"kind": Kind.INTERNAL, "native": native, "text": str(failure)}}
        answers.write(json.dumps({"id": number, **answer}) + "\n")
        answers.flush()


def _told(failure: Refused) -> dict[str, Any]:
    """Give an error as a line has it."""
    named = "code" if isinstance(failure.code, int) else "condition"
    told = {"kind": failure.kind, "native": failure.native, "text": failure.text}
    return told | ({"level": failure.level, named: failure.code} if failure.level else {})
