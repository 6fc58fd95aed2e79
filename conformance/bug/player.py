"""Plays a recorded exchange against a broker, and says whether the fault that it shows is still there.

This module is the end of every script that `amqp-conformance bug` writes, behind what is played: it may use
nothing but Python's own library and `reading`, which stands before it there.
"""

import argparse
import re
import secrets
import socket
import ssl
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.bug.reading import READERS, Seen, with_value

ANSWER = 3.0
"""Seconds in which what is due has come; in so much silence nothing comes any more."""
CLOSED, SILENCE = "the connection ended", "silence"
GONE, THERE, UNTOLD = 0, 1, 2
ENDINGS = ("connection.close", "channel.close", "close ", "end ", "detach ", CLOSED)
UNCOUNTED = ("heartbeat", "empty frame", "flow")
"""How many of these come is a matter of time."""
HANDSHAKE = ("connection.start", "connection.tune", "connection.open", "open", "sasl-", "protocol header")
"""What begins so tells of the product and its version: only that it came is compared."""


# -- playing -------------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Write a line at once: who waits wants to see for what."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Wire:
    """One connection, over TLS where there is a context for it, and what has come on it."""

    def __init__(self, number: int, at: tuple[str, int], tls: ssl.SSLContext | None, reader: Any) -> None:
        self.number = number
        self.socket = socket.create_connection(at, ANSWER)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=at[0])
        self.reader = reader
        self.seen: list[Seen] = []
        self.ended = False

    def send(self, octets: bytes) -> None:
        """Send, whatever becomes of it: a peer may have ended the connection by now."""
        try:
            self.socket.settimeout(ANSWER)
            self.socket.sendall(octets)
        except OSError:
            pass

    def listen(self, until: float) -> bool:
        """Take what comes next; False where nothing came until then."""
        left = until - time.monotonic()
        if self.ended or left <= 0:
            return False
        self.socket.settimeout(left)
        try:
            octets = self.socket.recv(1 << 16)
        except TimeoutError:
            return False
        except OSError:
            octets = b""
        self.ended = not octets
        self.seen += self.reader.feed(octets) if octets else [Seen(0, CLOSED)]
        return True

    def untaken(self) -> list[Seen]:
        """Give what came and was not looked at."""
        return [each for each in self.seen if not each.taken]


class Player:
    """Plays the steps of an exchange with a broker; `names` are what is another each time."""

    def __init__(
        self,
        given: Mapping[str, Any],
        at: tuple[str, int],
        names: Mapping[str, str],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.given, self.at, self.tls = given, at, tls
        self.names = dict(names)
        self.wires: dict[int, Wire] = {}
        self.after: Counter[str] = Counter()
        self.missing: list[str] = []
        self.seen_then = 0

    def play(self) -> int:
        """Play all of it; give 1 where the fault is there, 0 where it is gone, 2 where none can tell."""
        for place, step in enumerate(self.given["steps"]):
            what, number = step[0], step[1]
            if what == "open":
                reader = READERS[self.given["protocol"]](self.given["names"], self.given["codes"])
                self.wires[number] = Wire(number, self.at, self.tls, reader)
            elif what == "send" and self._answers_nothing(step[3]):
                say(f"   {number}: {step[3]} is not sent: there is nothing to answer")
            elif what == "send":
                say(f"-> {number}: {step[3]}")
                self.wires[number].send(self._octets(step[2], self.wires[number]))
            elif what == "await" and (came := self._await(self.wires[number], step[2])):
                if place > self.given["tried"] and self._is_legal(self.wires[number], came):
                    return self._says(GONE, f"{came} is as it should be")
                return self._says(UNTOLD, f"before it was played to where it shows, {came} came")
            elif what == "after":
                self.after.update(step[2])
            elif what == "learn":
                self._learn(self.wires[number], step[2], step[3])
            elif what == "pause":
                time.sleep(step[2])
            elif what == "end":
                self.wires[number].socket.close()
        decide = self._by_words if self.given["legal"] else self._by_likeness
        return decide(self.wires[self.given["connection"]])

    def _is_legal(self, wire: Wire, word: str) -> bool:
        if wire.number != self.given["connection"] or not self.given["legal"]:
            return False
        return re.fullmatch(self.given["legal"], word) is not None

    def _answers_nothing(self, says: str) -> bool:
        """Whether a thing would answer the end of a channel that did not come."""
        due = any(each.startswith("channel.close ") for each in self.missing)
        return due and says.startswith("channel.close-ok")

    def _seen(self) -> int:
        return sum(len(each.seen) for each in self.wires.values())

    def _gone(self, told: str) -> int:
        """Say that the fault is gone, unless nothing at all has come since something was missing."""
        if self.missing and self._seen() == self.seen_then:
            return self._says(UNTOLD, f"{self.missing[0]} does not come, and nothing behind it")
        return self._says(GONE, told)

    def _octets(self, parts: Sequence[str], wire: Wire) -> bytes:
        """Make octets of parts: hexadecimal, or a name with the width of the size that stands before it.

        Behind "tune:" stand limits that the broker had agreed to: they become what this one allows.
        """
        made = b""
        for part in parts:
            width, _, name = part.partition(":")
            if width == "tune":
                made += self._limits(bytes.fromhex(name), wire)
                continue
            if name and name not in self.names:
                raise LookupError(f"the broker gave no name to a {name}")
            text = self.names[name].encode() if name else b""
            made += len(text).to_bytes(int(width), "big") + text if name else bytes.fromhex(part)
        made = made.replace(self.given["run"].encode(), self.names["run"].encode())
        if len(parts) > 1:  # its size depends on what was put in
            made = self._sized(made)
        for name, told in self.given["places"].items():
            if self.given["protocol"] == "1-0" and self.names[name] != told and told.encode() in made:
                body, end = with_value(made, 8, told.encode(), self.names[name].encode())
                made = struct.pack("!I", 8 + len(body) + len(made) - end) + made[4:8] + body + made[end:]
        return made

    def _limits(self, agreed: bytes, wire: Wire) -> bytes:
        proposed = next((each.octets[:8] for each in wire.seen if each.word == "connection.tune"), agreed)
        ours, theirs = struct.unpack("!HIH", agreed), struct.unpack("!HIH", proposed)
        return struct.pack(
            "!HIH", *(min(a or b, b or a) for a, b in zip(ours[:2], theirs[:2], strict=True)), ours[2]
        )

    def _sized(self, made: bytes) -> bytes:
        if self.given["protocol"] == "0-9-1":
            return made[:3] + struct.pack("!I", len(made) - 8) + made[7:]
        # A frame of 1.0 whose performative has a list with a size of one octet.
        return struct.pack("!I", len(made)) + made[4:12] + bytes([len(made) - 13]) + made[13:]

    def _await(self, wire: Wire, words: Sequence[str]) -> str:
        """Wait for what came next when it was recorded; give what ended something in place of it.

        What merely does not come may be what the fault made come: it is played on.
        """
        left = deque(words)
        until = time.monotonic() + self._patience()
        while left:
            found = next((each for each in wire.untaken() if each.word == left[0]), None)
            if found is not None:
                found.taken = True
                say(f"<- {wire.number}: {left.popleft()}")
                continue
            ending = next((each for each in wire.untaken() if each.word.startswith(ENDINGS)), None)
            if ending is not None and not left[0].startswith(ENDINGS):
                return ending.word
            if not wire.listen(until):
                self.seen_then = self.seen_then if self.missing else self._seen()
                self.missing.append(left.popleft())
                say(f"   {wire.number}: {self.missing[-1]} does not come")
                until = time.monotonic() + self._patience()
        return ""

    def _patience(self) -> float:
        """Give seconds to wait for a thing: the more was waited for in vain, the fewer."""
        return ANSWER / float(3 ** len(self.missing))

    def _learn(self, wire: Wire, word: str, name: str) -> None:
        """Keep the name that the broker gave to a queue or a consumer, for what is sent from here on."""
        told = [each.octets for each in wire.seen if each.taken and each.word == word and each.octets]
        if told:
            self.names[name] = told[-1][1 : 1 + told[-1][0]].decode("utf-8", "replace")

    # -- deciding --------------------------------------------------------------------------------------

    def _by_words(self, wire: Wire) -> int:
        """Hold what comes next against what is legal."""
        until = time.monotonic() + (2 * ANSWER if self.given["patient"] else ANSWER)
        legal, came = re.compile(self.given["legal"]), self.given["came"]
        others = []
        while True:
            seen = next(iter(wire.untaken()), None)
            if seen is None:
                if not wire.listen(until):
                    break
                continue
            seen.taken = True
            if self.after[seen.word]:  # it came when it was recorded, too, and decided nothing
                self.after[seen.word] -= 1
            elif legal.fullmatch(seen.word):
                if self.given["never"] and self._comes(wire, came):
                    return self._says(THERE, f"{came}, behind {seen.word}")
                return self._gone(f"{seen.word} is as it should be")
            elif seen.word == came:
                return self._says(THERE, seen.word)
            elif seen.word not in self.given["noise"]:
                others.append(seen.word)
        return self._in_vain(legal, came, others)

    def _comes(self, wire: Wire, word: str) -> bool:
        """Whether a thing that may never come does so a little later."""
        until = time.monotonic() + ANSWER / 3
        while wire.listen(until):
            pass
        return any(each.word == word for each in wire.untaken())

    def _in_vain(self, legal: re.Pattern[str], came: str, others: Sequence[str]) -> int:
        """Say what it means that neither came: another of the kind of what was recorded is the fault, too."""
        told = f"there came {', '.join(others) or 'nothing'}"
        if came != SILENCE and any(each.split()[0] == came.split()[0] for each in others):
            return self._says(THERE, f"{told}, which is of the kind of what was recorded")
        if legal.fullmatch(SILENCE):
            return self._gone(told)
        if came == SILENCE:
            return self._says(THERE, told)
        return self._says(UNTOLD, f"{told}, which is neither legal nor what was recorded")

    def _by_likeness(self, wire: Wire) -> int:
        """Hold all that came against what was recorded."""
        until = time.monotonic() + ANSWER
        while wire.listen(until):
            pass
        recorded, now = Counter(self.given["tally"]), self._tally()
        for each in [word for word in now if word.startswith(ENDINGS)]:
            now[each] = min(now[each], recorded[each])  # a peer may end what nobody uses any more
        for each in UNCOUNTED:
            recorded[each], now[each] = min(recorded[each], 1), min(now[each], 1)
        more, less = now - recorded, recorded - now
        # Where something that came decided, it is gone when it does not come; what comes beside it is chance.
        if less or (more and self.given["came"] == SILENCE):
            told = ", ".join(more.elements()) or "nothing", ", ".join(less.elements()) or "nothing"
            return self._gone(f"there came {told[0]} more, and {told[1]} less than with it")
        alike = sum(self._same(each, self.given["octets"]) for each in wire.seen)
        if self.given["octets"] and alike != self.given["alike"]:
            return self._gone("what decided comes with other octets")
        return self._says(THERE, "all came as it was recorded")

    def _tally(self) -> Counter[str]:
        words = (each.word for wire in self.wires.values() for each in wire.seen)
        return Counter(word for word in words if word not in self.given["noise"])

    def _same(self, seen: Seen, octets: str) -> bool:
        return seen.octets.replace(self.names["run"].encode(), self.given["run"].encode()).hex() == octets

    def _says(self, status: int, told: str) -> int:
        found = {GONE: "the fault is gone", THERE: "the fault is there", UNTOLD: "it cannot be told"}
        say(f"{found[status]}: {told}")
        return status


def main(given: Mapping[str, Any], arguments: Sequence[str] | None = None) -> int:
    """Play an exchange against the broker of the command line; give the exit status.

    It is 1 while the fault is there, 0 when it is gone, 2 where that cannot be told.
    """
    parser = argparse.ArgumentParser(description=given["about"])
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--user", default="guest")
    parser.add_argument("--password", default="guest")
    if given["other"]:
        parser.add_argument("--other-user", required=True, help="the other user that this is about")
        parser.add_argument("--other-password", required=True)
    for name, told in given["places"].items():
        parser.add_argument(f"--{name}", default=told, help=f"one that is there, in place of {told}")
    parser.add_argument("--tls", action="store_true", help="speak over TLS")
    parser.add_argument("--ca", help="a file with the certificates to trust, in place of the system's")
    chosen = parser.parse_args(arguments)
    names = {name: getattr(chosen, name.replace("-", "_")) for name in given["places"]}
    names |= {"run": secrets.token_hex(32)[: len(given["run"])]}
    names["plain"] = f"\0{chosen.user}\0{chosen.password}"
    if given["other"]:
        names["other"] = f"\0{chosen.other_user}\0{chosen.other_password}"
    try:
        tls = ssl.create_default_context(cafile=chosen.ca) if chosen.tls else None
        return Player(given, (chosen.host, chosen.port), names, tls).play()
    except (OSError, LookupError, ValueError, struct.error) as failure:  # by itself Python would end with 1
        say(f"it cannot be told: {chosen.host}:{chosen.port}: {failure}")
        return UNTOLD
