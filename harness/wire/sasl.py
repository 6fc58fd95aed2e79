"""SASL (RFC 4422) as AMQP uses it: each mechanism is data, what it says first and how it answers a challenge.

- PLAIN (RFC 4616) has two dialects in the field: the response goes with Start-Ok, or only after a Secure. The
  answer to a challenge is therefore the response again.
- AMQPLAIN is what brokers took over from AMQP 0-8: a field table with LOGIN and PASSWORD, without its length.
- ANONYMOUS (RFC 4505) says a trace, nobody's name. EXTERNAL (RFC 4422, appendix A) leaves it to the layer
  below, such as a client certificate, to say who the client is.
- RABBIT-CR-DEMO is PLAIN in two steps, made to try challenges with: the user first, the password when asked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

PLAIN, CHALLENGED = "PLAIN", "RABBIT-CR-DEMO"
TRACE = b"amqp-conformance"


class UnknownMechanism(ValueError):
    """No mechanism has this name; the message is one sentence."""


def _plain(user: str, password: str) -> bytes:
    return f"\0{user}\0{password}".encode()


def _told(_user: str, password: str) -> bytes:
    return f"My password is {password}".encode()


def _amqplain(user: str, password: str) -> bytes:
    return _long_string("LOGIN", user) + _long_string("PASSWORD", password)


def _long_string(name: str, value: str) -> bytes:
    # A pair of a field table (0-9-1, 4.2.5.5): a short string, the type S, a long string.
    octets = value.encode()
    return bytes((len(name),)) + name.encode() + b"S" + len(octets).to_bytes(4) + octets


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One mechanism: `response` makes what is said first, from user and password.

    `answer` makes the reply to a challenge, from the same; without it a challenge gets the response again.
    `by_password` is false where neither user nor password is said, so that another user needs another
    mechanism.
    """

    name: str
    response: Callable[[str, str], bytes]
    by_password: bool = True
    answer: Callable[[str, str], bytes] | None = None


MECHANISMS: Mapping[str, Mechanism] = {
    each.name: each
    for each in (
        Mechanism(PLAIN, _plain),
        Mechanism("AMQPLAIN", _amqplain),
        Mechanism("ANONYMOUS", lambda _user, _password: TRACE, by_password=False),
        Mechanism("EXTERNAL", lambda _user, _password: b"", by_password=False),
        Mechanism(CHALLENGED, lambda user, _password: user.encode(), answer=_told),
    )
}
"""The mechanisms spoken here, by name (names are upper case: RFC 4422, 3.1)."""


def mechanism(name: str) -> Mechanism:
    """Return the mechanism called `name`. Raises UnknownMechanism, which names the known ones."""
    if name not in MECHANISMS:
        raise UnknownMechanism(f"there is no SASL mechanism {name!r} here; known are {', '.join(MECHANISMS)}")
    return MECHANISMS[name]
