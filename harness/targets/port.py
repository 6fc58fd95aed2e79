"""What answers at a port of which nobody has said what is there: AMQP, something else, or nothing.

Every protocol is tried at once, each on a connection of its own, and only first octets are read. After a
while of silence it is asked, too, what other protocols are asked.
"""

import time
from collections.abc import Callable, Mapping
from queue import Empty, Queue
from threading import Event, Thread

from harness.targets.target import Target
from harness.wire.tls import client_hello, is_tls
from harness.wire.transport import End, Unreachable

Answer = bytes | End | Unreachable | None
"""The first octets; how the connection ended before any came; why there is none; None for silence."""
Told = tuple[str, Answer | Exception]
PATIENCE = 2.0
"""Seconds for the first octets."""
ASIDE = 1.0
"""Seconds of silence after which it is asked what other protocols are asked."""
STEP = 0.1
"""Seconds between two looks at whether anybody still wants to know."""
TELLING = 4
"""Octets by which a protocol is known."""
SHOWN = 60
"""Octets that are shown of a text."""
HTTP, TLS = "HTTP", "TLS"
OPENINGS: Mapping[bytes, str] = {
    b"HTTP/": HTTP,
    b"<!DOCTYPE HTML": HTTP,
    b"SSH-": "SSH",
    b"220": "SMTP or FTP",
    b"* OK": "IMAP",
    b"+OK": "POP3",
    b"-ERR": "the protocol of Redis",
    b"INFO": "NATS",
}
"""How what is no AMQP begins."""


def foreign(
    target: Target, headers: Mapping[str, bytes], within: float, busy: Callable[[], bool] = lambda: False
) -> str:
    """Say in one sentence why no AMQP is spoken at a target's port; empty where it may be.

    `headers` is what opens a connection, by the name of the protocol; what says nothing within so many
    seconds, nor while this side is `busy` with something else, says nothing. Raises Unreachable where nobody
    listens.
    """
    own = {TLS: client_hello()} if target.tls else dict(headers)
    others = {HTTP: b"HEAD / HTTP/1.0\r\n\r\n"} | (dict(headers) if target.tls else {TLS: client_hello()})
    answers = _answers(target, own, others, within, busy)
    endpoint = target.endpoint()
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    place = f"{host}:{endpoint.port}"
    words = [each for each in answers.values() if isinstance(each, bytes)]
    if words:
        return _other(place, words[0], target.tls)
    for each in answers.values():
        if isinstance(each, Unreachable):
            raise each
    tried = "a TLS handshake" if target.tls else f"the header of {' and of '.join(headers)}"
    if all(isinstance(each, End) for each in answers.values()):
        return f"{place} accepts connections and closes them without a word, whether to {tried} or to HTTP"
    return (
        f"{place} accepts connections and says nothing, in {within:g} s, to {tried}"
        " (--first-answer SECONDS waits longer)"
    )


def _other(place: str, said: bytes, tls: bool) -> str:
    """Say what was answered where it is not what a client of AMQP, or of TLS, is waiting for."""
    if is_tls(said):
        return (
            ""
            if tls
            else f"{place} does not speak AMQP; it speaks TLS (amqps://): did you mean amqps://{place}?"
        )
    if said.startswith(b"AMQP"):
        plain = f"{place} does not speak TLS but AMQP (a plain port is reached by amqp://)"
        return f"{plain}: did you mean amqp://{place}?" if tls else ""
    name = next((name for opening, name in OPENINGS.items() if said.startswith(opening)), "")
    line = said.splitlines()[0] if said.strip() else b""
    # No frame begins like this: types and sizes are not letters.
    is_text = len(line) >= TELLING and all(0x20 <= each < 0x7F for each in line[:SHOWN])
    if not (name or is_text):
        return ""
    told = line[:SHOWN].decode("ascii", "backslashreplace")
    where = "; brokers listen at 5672 as a rule, with TLS at 5671" if name == HTTP else ""
    return f"{place} answers {name or 'text'}, not AMQP: {told!r}{where}"


def _answers(
    target: Target,
    own: Mapping[str, bytes],
    others: Mapping[str, bytes],
    within: float,
    busy: Callable[[], bool],
) -> dict[str, Answer]:
    """Ask what is `own` to the target, and after silence what `others` ask; stop at the first words."""
    told: Queue[Told] = Queue()
    enough = Event()
    began = time.monotonic()
    deadline = began + within
    answers: dict[str, Answer] = {}

    def put(name: str, octets: bytes, left: float) -> None:
        try:
            told.put((name, _answer(target, octets, left, enough, busy)))
        except Exception as failure:  # somebody waits for it: raised there
            told.put((name, failure))

    def ask(questions: Mapping[str, bytes]) -> int:
        for name, octets in questions.items():
            left = deadline - time.monotonic()
            Thread(target=put, args=(name, octets, left), daemon=True).start()
        return len(questions)

    waiting, asked = ask(own), False
    try:
        while waiting:
            try:
                pause = None if asked else max(began + min(ASIDE, within / 2) - time.monotonic(), 0.0)
                name, answer = told.get(timeout=pause)
            except Empty:
                pass
            else:
                waiting -= 1
                if isinstance(answer, Exception) and not isinstance(answer, Unreachable):
                    raise answer
                answers[name] = answer
                if isinstance(answer, bytes):
                    return {name: answer}
                if waiting or any(isinstance(each, Unreachable) for each in answers.values()):
                    continue
            if not asked:
                asked = True
                waiting += ask(others)
    finally:
        enough.set()
    return answers


def _answer(target: Target, octets: bytes, within: float, enough: Event, busy: Callable[[], bool]) -> Answer:
    """Say `octets` on a connection of their own; give what comes first, as far as it tells a protocol."""
    try:
        transport = target.bare(max(within, STEP))
    except Unreachable as failure:
        return failure
    try:
        transport.send(octets)
        deadline, first = transport.now() + within, b""
        while len(first) < TELLING and not enough.is_set() and (transport.now() < deadline or busy()):
            seen = transport.receive(transport.now() + STEP)
            if isinstance(seen, End):
                return first or seen
            first += seen or b""
        return first or None
    finally:
        transport.close()
