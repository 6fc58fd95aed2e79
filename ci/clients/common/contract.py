"""What shims in Python share: lines in and out, values, events, messages and their tokens.

`ci/clients/README.md` says what all of it means. A shim is a class of commands, derived from Shim or Amqp091,
and `serve(TheShim())`. Only what comes with Python is imported here.
"""

import faulthandler
import inspect
import json
import os
import platform
import signal
import socket
import stat
import struct
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

CONTRACT = 1
SHORT = 1024
"""Octets of a body that is told as text."""
GRACE = 0.5
"""Seconds that a library which has time-outs of its own may be late, before the shim gives up for it."""
PROPERTIES = (
    "content-type",
    "content-encoding",
    "headers",
    "delivery-mode",
    "priority",
    "correlation-id",
    "reply-to",
    "expiration",
    "message-id",
    "timestamp",
    "type",
    "user-id",
    "app-id",
)
"""The properties of a message in 0-9-1."""
COMMANDS = {
    "0-9-1": ("call", "get", "receive", "stop"),
    "1-0": ("attach", "credit", "drain", "detach"),
}
EVERYWHERE = ("hello", "connect", "open", "wait", "send", "settle", "echo", "close", "reset")
Told = dict[str, Any]
Makers = Mapping[str, Callable[[Any], Any]]
"""How a library's own value is made, by the key of the contract; without a maker it is unsupported."""
Tellers = Mapping[type, Callable[[Any], Any]]
"""How a value of exactly this type is told, where `told` does not know better."""


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


class Shim:
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

    def live(self, connection: str, seconds: float) -> None:
        """Let the library work up to so long, or until something happened."""
        raise NotImplementedError

    def closed(self, failure: BaseException) -> Refused | None:
        """Give what the server said, if an exception tells that it closed something."""
        raise NotImplementedError

    def forget(self) -> None:
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
        ours = {Path(__file__).resolve(), Path(sys.argv[0]).resolve()}
        return "internal" if last is None or Path(last.filename).resolve() in ours else "local"

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


class Amqp091(Shim):
    """A library of 0-9-1, as far as those of Python are alike; each has its own call, get, receive."""

    connecting: ClassVar[Mapping[str, str]] = {}
    """What else may be told to `connect`: by the contract's name, and what the library calls it."""
    makers: ClassVar[Makers] = {}
    stamp: Callable[[str], Any] = int
    """How the property timestamp is made; in tables `time` of the makers counts."""

    def reach(self, host: str, port: int, user: str, password: str, vhost: str, given: Told) -> Any:
        """Open a connection; `given` is what else is told, by the library's own names."""
        raise NotImplementedError

    def publish(
        self, on: str, exchange: str, key: str, body: bytes, properties: Any, mandatory: bool, immediate: bool
    ) -> None:
        """Publish a message with properties as `properties` made them."""
        raise NotImplementedError

    def properties(self, given: Told) -> Any:
        """Make what the library has for properties of values that are its own, by names with underscores."""
        return given

    def delivery(self, message: Any) -> int:
        """Give the delivery tag of what was kept."""
        tag: int = message.delivery_tag
        return tag

    def acknowledge(self, on: str, message: Any, multiple: bool) -> None:
        """Send Basic.Ack, by the name that most have for it."""
        self.found(on).basic_ack(self.delivery(message), multiple)

    def reject(self, on: str, message: Any, requeue: bool) -> None:
        """Send Basic.Reject."""
        self.found(on).basic_reject(self.delivery(message), requeue)

    def stop(self, on: str, tag: str) -> None:
        """End a consumer."""
        self.found(on).basic_cancel(tag)

    def again(self, on: str, message: Any, key: str) -> None:
        """Publish what was kept, untouched, to the default exchange."""
        raise NotImplementedError

    def connect(self, host: str, port: int, user: str, password: str, vhost: str, **optional: Any) -> Told:
        """Open a connection, once."""
        if unknown := optional.keys() - self.connecting.keys():
            raise unsupported(f"{self.library} connects without {', '.join(sorted(unknown))}")
        given = {self.connecting[name]: each for name, each in optional.items()}
        connection = self.reach(host, port, user, password, vhost, given)
        name = self.named()
        self.connections[name] = connection
        return {"on": name}

    def opened(self, on: str, number: int, channel: Any) -> Told:
        """Keep a channel that was opened. Its number may have been another's, which is over."""
        name = f"{on}/{number}"
        self.inner[name] = channel
        self.over.pop(name, None)
        return {"on": name}

    def send(
        self,
        on: str,
        exchange: str,
        key: str,
        body: str | Mapping[str, Any],
        properties: Mapping[str, Any] | None = None,
        mandatory: bool = False,
        immediate: bool = False,
        count: int = 1,
    ) -> None:
        """Publish a message, so many times."""
        given = dict(properties or {})
        stamp = given.pop("timestamp", None)
        values = taken_properties(given, self.makers)
        if stamp is not None:
            values["timestamp"] = taken(stamp, {"time": self.stamp})
        octets, made = filled(body), self.properties(values)
        for _ in range(count):
            self.publish(on, exchange, key, octets, made, mandatory, immediate)

    def settle(self, on: str, token: str, outcome: str, multiple: bool = False) -> None:
        """Settle a message."""
        message = self.kept(token)
        if outcome == "accept":
            self.acknowledge(on, message, multiple)
        elif outcome in ("release", "reject") and not multiple:
            self.reject(on, message, outcome == "release")
        else:
            raise unsupported(f"0-9-1 cannot {outcome} it so")

    def echo(self, on: str, token: str, key: str) -> None:
        """Publish a message again, as the library gave it."""
        self.again(on, self.kept(token), key)

    def close(self, on: str) -> None:
        """Close a channel or a connection, and wait for the answer."""
        self.found(on).close()


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


# -- calls ---------------------------------------------------------------------------------------------


def called(
    act: Callable[..., Any], given: Mapping[str, Any], names: Mapping[str, str], makers: Makers
) -> Any:
    """Call a function of a library by the names that the document has for its arguments.

    `names` has those that the library calls otherwise. Raises Refused for an argument that it does not have,
    but for `no-wait: false`.
    """
    known = inspect.signature(act).parameters
    arguments = {}
    for name, value in given.items():
        own = names.get(name, name.replace("-", "_"))
        if own in known:
            arguments[own] = taken(value, makers)
        elif (name, value) != ("no-wait", False):
            raise unsupported(f"{act.__name__} has no argument for {name}")
    return act(**arguments)


# -- values --------------------------------------------------------------------------------------------


def filled(told_: str | Mapping[str, Any]) -> bytes:
    """Make a body of what is told: a text, {"fill": n}, or {"bin": hex}."""
    if isinstance(told_, str):
        return told_.encode()
    if "bin" in told_:
        return bytes.fromhex(told_["bin"])
    size = int(told_["fill"])
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def taken(value: Any, makers: Makers) -> Any:
    """Make a library's value of what is told. Raises Refused for what it has no type for."""
    if not isinstance(value, Mapping):
        return value
    ((key, inside),) = value.items()
    if key in makers:
        return makers[key](inside)
    if key == "list":
        return [taken(each, makers) for each in inside]
    if key == "map":
        return mapped([(taken(name, makers), taken(each, makers)) for name, each in inside])
    raise unsupported(f"the library has no type for {key}")


def mapped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a dict of pairs. Raises Refused where a key comes twice, which no dict can hold."""
    pairs = list(pairs)
    made = dict(pairs)
    if len(made) != len(pairs):
        raise unsupported("a dict holds each key once")
    return made


def told(value: Any, tellers: Tellers | None = None) -> Any:
    """Tell a value that a library gave."""
    if tellers and type(value) in tellers:
        return tellers[type(value)](value)
    match value:
        case None | bool() | str():
            return value
        case int():
            return {"int": str(value)}
        case float():
            return {"f64": struct.pack(">d", value).hex()}
        case bytes() | bytearray() | memoryview():
            return {"bin": bytes(value).hex()}
        case Decimal():
            return told_decimal(value)
        case datetime():
            return told_time(value)
        case Mapping():
            return {"map": [[told(name, tellers), told(each, tellers)] for name, each in value.items()]}
        case list() | tuple():
            return {"list": [told(each, tellers) for each in value]}
    raise Refused("internal", f"the shim does not know how to tell a {type(value).__name__}")


def told_decimal(value: Decimal) -> Told:
    """Tell a decimal as scale and number."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise Refused("internal", f"{value} is no number")
    number = int("".join(map(str, digits))) * 10 ** max(exponent, 0) * (-1 if sign else 1)
    return {"dec": [max(-exponent, 0), str(number)]}


def told_time(value: datetime | int | float) -> Told:
    """Tell a time in seconds."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return {"time": str(int(value))}


def decimal(given: Sequence[Any]) -> Decimal:
    """Make a decimal of scale and number."""
    return Decimal(int(given[1])).scaleb(-int(given[0]))


def fitting(key: str, *spans: tuple[int, int]) -> Callable[[str], int]:
    """Make an integer where a library takes the type by the number: within these bounds it is `key`."""

    def made(number: str) -> int:
        if any(least <= int(number) <= most for least, most in spans):
            return int(number)
        raise unsupported(f"the library takes a type by the number, and for {number} it is not {key}")

    return made


def double(bits: str) -> float:
    """Make a float of the bits of a double."""
    number: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return number


def single(bits: str) -> float:
    """Make a float of the bits of a single one."""
    number: float = struct.unpack(">f", bytes.fromhex(bits))[0]
    return number


def moment(seconds: str) -> datetime:
    """Make a time in UTC of seconds. Raises Refused where Python has none."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise unsupported(f"a datetime of Python does not reach {seconds}") from None


PAMQP: Makers = {
    "i8": fitting("i8", (-(1 << 7), (1 << 7) - 1)),
    "i16": fitting("i16", (-(1 << 15), -(1 << 7) - 1), (1 << 7, (1 << 15) - 1)),
    "u16": fitting("u16", (1 << 15, (1 << 16) - 1)),
    "i32": fitting("i32", (-(1 << 31), -(1 << 15) - 1), (1 << 16, (1 << 31) - 1)),
    "u32": fitting("u32", (1 << 31, (1 << 32) - 1)),
    "i64": fitting("i64", (-(1 << 63), -(1 << 31) - 1), (1 << 32, (1 << 63) - 1)),
    "f32": single,  # all floats go as f
    "dec": decimal,
    "time": moment,
    "bin": lambda octets: bytearray.fromhex(octets),
}
"""What pamqp takes, by which several libraries encode."""


def taken_properties(given: Mapping[str, Any], makers: Makers) -> dict[str, Any]:
    """Make the properties of a message in 0-9-1, by their names with underscores."""
    if unknown := given.keys() - set(PROPERTIES):
        raise unsupported(f"a message has no {', '.join(sorted(unknown))}")
    return {name.replace("-", "_"): taken(each, makers) for name, each in given.items()}


def told_properties(get: Callable[[str], Any], tellers: Tellers | None = None) -> Told:
    """Tell the properties that came in 0-9-1; `get` gives one by its name with underscores, or None."""
    given = {name: get(name.replace("-", "_")) for name in PROPERTIES}
    return {name: _told_property(name, each, tellers) for name, each in given.items() if each is not None}


def _told_property(name: str, value: Any, tellers: Tellers | None) -> Any:
    if name == "timestamp":
        return told_time(value)
    return told(value, tellers) if name == "headers" or isinstance(value, bytes) else value
