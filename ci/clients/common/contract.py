"""What shims in Python share: lines in and out, events, messages and their tokens.

`ci/clients/README.md` says what all of it means. A shim is a class of commands, derived from Shim, or from
Amqp091 of contract_amqp091, and `serve(TheShim())`. Only what comes with Python is imported here.
"""

import faulthandler
import inspect
import json
import os
import platform
import signal
import socket
import stat
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

CONTRACT = 1
SHORT = 1024
"""Octets of a body that is told as text."""
GRACE = 0.5
"""Seconds that a library which has time-outs of its own may be late, before the shim gives up for it."""
COMMANDS = {
    "0-9-1": ("call", "get", "receive", "stop"),
    "1-0": ("attach", "credit", "drain", "detach"),
}
EVERYWHERE = ("hello", "connect", "open", "wait", "send", "settle", "echo", "close", "reset")
Told = dict[str, Any]


class Refused(Exception):
    """A command was not carried out: an answer with an error."""

    def __init__(self, kind: str, text: str, native: str = "", level: str = "", code: int | str = "") -> None:
        super().__init__(text)
        self.kind, self.text, self.native, self.level, self.code = kind, text, native, level, code

    def answer(self) -> Told:
        """Give it as a line has it."""
        return {"kind": self.kind, "native": self.native, "text": self.text, **self.closing()}

    def closing(self) -> Told:
        """Give what the server said where it closed something."""
        if not self.level:
            return {}
        return {"level": self.level, "code" if isinstance(self.code, int) else "condition": self.code}


class GaveUp(BaseException):
    """The time is over. No Exception, because libraries catch these."""


def unsupported(text: str) -> Refused:
    """Make the refusal of what the library has no way to do."""
    return Refused("unsupported", text)


# -- a shim --------------------------------------------------------------------------------------------


class Shim(ABC):
    """A library behind the contract. A command is a method of its name; `for` arrives as `seconds`."""

    library = ""
    version = ""
    protocol = "0-9-1"
    kinds: Sequence[tuple[str, Sequence[str]]] = ()
    """What exceptions mean, by the names of their classes and of those above; the first that fits counts."""

    def __init__(self) -> None:
        self.within = 5.0
        """Seconds that the present command may take."""
        self.connections: dict[str, Any] = {}
        self.inner: dict[str, Any] = {}
        """Channels, or sessions and links, by their names."""
        self.over: dict[str, Refused] = {}
        """Why a connection or a channel is no more, as far as the library told."""
        self._events: dict[str, list[Told]] = defaultdict(list)
        self._kept: dict[str, Any] = {}
        self._opened = self._tokens = 0

    # What a library has to say:

    @abstractmethod
    def live(self, connection: str, seconds: float) -> None:
        """Let the library work up to so long, or until something happened."""

    @abstractmethod
    def closed(self, failure: BaseException) -> Refused | None:
        """Give what the server said, if an exception tells that it closed something."""

    def forget(self) -> None:  # noqa: B027 - most keep nothing
        """Drop what the library keeps; the sockets are gone already."""

    # What is the same for all:

    def hello(self) -> Told:
        """Say who we are."""
        named = {"library": self.library, "version": self.version, "protocol": self.protocol}
        return {"contract": CONTRACT, "language": f"Python {platform.python_version()}", **named}

    def wait(self, on: str, seconds: float, count: int | None = None) -> Told:
        """Let the library work until there are so many events, and tell them."""
        name, until = on.partition("/")[0], time.monotonic() + seconds
        self.found(name)
        while name not in self.over and (count is None or len(self._events[name]) < count):
            left = max(until - time.monotonic(), 0.0)
            try:
                self.live(name, left)
            except Exception as failure:
                why = self.refused(failure, name)
                if why.kind == "local":  # the library gave it up
                    self.ended(name, why)
            except GaveUp:  # a library that never comes back from its pump is no reason to keep the events
                break
            if not left:
                break
        return {"events": self._events.pop(name, [])[:]}

    def reset(self) -> None:
        """Drop all sockets without a word, and forget everything."""
        drop_sockets()
        for each in (self.connections, self.inner, self.over, self._events, self._kept):
            each.clear()
        self.forget()

    def named(self) -> str:
        """Give the name of the next connection."""
        self._opened += 1
        return f"c{self._opened - 1}"

    def found(self, on: str) -> Any:
        """Give what has a name. Raises Refused."""
        thing = self.connections.get(on, self.inner.get(on))
        if thing is None:
            raise Refused("internal", f"there is no {on} (any more)")
        return thing

    def happened(self, event: str, on: str, **more: Any) -> None:
        """Keep an event until somebody waits for it."""
        self._events[on.partition("/")[0]].append({"event": event, "on": on, **more})

    def ended(self, on: str, why: Refused) -> None:
        """Remember that a connection or a channel is over, and tell it as an event, once."""
        if not on or on in self.over or on.partition("/")[0] in self.over:
            return
        # What closes a connection may be told by one of its channels, and the other way round.
        on = on.partition("/")[0] if why.level == "connection" or why.kind != "closed" else on
        self.over[on] = why
        if why.kind == "closed":
            self.happened("closed", on, text=why.text, **why.closing())
        else:
            self.happened("lost", on)

    def keep(self, thing: Any, body: bytes | None, **more: Any) -> Told:
        """Give a message a token, and tell it."""
        token = f"m{self._tokens}"
        self._tokens += 1
        self._kept[token] = thing
        message: Told = {"token": token}
        if body is not None:
            message |= {"size": len(body), "crc32": crc32(body)}
            if len(body) <= SHORT:
                with suppress(UnicodeDecodeError):
                    message["text"] = body.decode()
        return message | more

    def kept(self, token: str) -> Any:
        """Give the message of a token. Raises Refused."""
        if token not in self._kept:
            raise Refused("internal", f"there is no {token} (any more)")
        return self._kept[token]

    def refused(self, failure: BaseException, on: str = "") -> Refused:
        """Say in the contract's words why something was not done."""
        if isinstance(failure, Refused):
            return failure
        native = f"{type(failure).__module__}.{type(failure).__qualname__}"
        text = str(failure) or repr(failure)
        if said := self.closed(failure):
            said.native = native
            if said.kind in ("closed", "lost"):
                self.ended(on, said)
            return said
        kind = self._kind(failure)
        if kind == "internal":
            traceback.print_exception(failure)
        # A library may forget why; what it told before is the reason all the same.
        why = self.over.get(on) or self.over.get(on.partition("/")[0])
        if why and kind in ("local", "lost"):
            return Refused(why.kind, why.text, native, why.level, why.code)
        if kind == "lost":
            self.ended(on, Refused(kind, text, native))
        return Refused(kind, text, native)

    def _kind(self, failure: BaseException) -> str:
        classes = {each.__name__ for each in type(failure).__mro__}
        for kind, names in self.kinds:
            if not classes.isdisjoint(names):
                return kind
        if isinstance(failure, GaveUp | TimeoutError):
            return "timeout"
        if isinstance(failure, OSError | EOFError):
            return "lost"
        # What is thrown by a line of the library is its refusal; what is thrown by one of ours is our fault.
        *_, last = traceback.extract_tb(failure.__traceback__) or [None]
        thrown = Path(last.filename if last else __file__).resolve()
        ours = thrown.parent in {Path(each).resolve().parent for each in (__file__, sys.argv[0])}
        return "internal" if ours else "local"

    def do(self, command: str, given: Told) -> Told:
        """Carry out a command. Raises Refused, or what the library throws."""
        if command not in (*EVERYWHERE, *COMMANDS[self.protocol]):
            raise Refused("unknown", f"there is no command {command}")
        act: Callable[..., Told | None] | None = getattr(self, command, None)
        if act is None:
            raise unsupported(f"{self.library} has no {command}")
        if "for" in given:
            given["seconds"] = given.pop("for")
        known = inspect.signature(act).parameters
        if "optional" not in known and (unknown := given.keys() - known.keys()):
            raise unsupported(f"{command} has no {', '.join(sorted(unknown))} in {self.library}")
        return act(**given) or {}


def serve(shim: Shim) -> None:
    """Do what each line of stdin says and answer it, up to the end; then leave, whatever still runs."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    faulthandler.register(signal.SIGQUIT)
    signal.signal(signal.SIGALRM, _give_up)
    for line in sys.stdin:
        given: Told = json.loads(line)
        number, command = given.pop("id"), given.pop("do")
        shim.within = float(given.pop("within", 5.0))
        try:
            signal.setitimer(signal.ITIMER_REAL, float(given.get("for", shim.within)) + GRACE, 1.0)
            try:
                answer: Told = {"ok": shim.do(command, given)}
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except (Exception, GaveUp) as failure:
            answer = {"error": shim.refused(failure, str(given.get("on", ""))).answer()}
        answers.write(json.dumps({"id": number, **answer}, default=_octets) + "\n")
        answers.flush()
    os._exit(0)


def _octets(value: object) -> Told:
    """Tell what a library gives as octets where text is usual."""
    if isinstance(value, bytes | bytearray):
        return {"bin": value.hex()}
    raise TypeError(f"a {type(value).__name__} cannot be told")


def _give_up(*_: Any) -> None:
    raise GaveUp("the library did not come back in time")


def drop_sockets() -> None:
    """Drop all sockets that lead out of this process, whatever the library is doing with them.

    Each descriptor leads nowhere afterwards instead of being free: a thread that still uses it must not
    meet the next connection.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers, no files
        if not _is_socket(int(name)):
            continue
        with suppress(OSError), socket.socket(fileno=os.dup(int(name))) as found:
            if found.family in (socket.AF_INET, socket.AF_INET6):
                with suppress(OSError):  # it may not have been connected
                    found.shutdown(socket.SHUT_RDWR)
                os.dup2(nowhere, int(name))
    os.close(nowhere)


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:  # closed meanwhile
        return False
