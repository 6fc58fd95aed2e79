"""How exchanges of each type match a message with a binding (3.1.3)."""

from collections.abc import Callable, Mapping
from typing import Final

from harness.amqp0_9_1.peer.entities import Binding, Message

Matching = Callable[[Binding, Message], bool]


def direct(binding: Binding, message: Message) -> bool:
    """Match equal keys (3.1.3.1)."""
    return binding.routing_key == message.routing_key


def fanout(_: Binding, __: Message) -> bool:
    """Match unconditionally (3.1.3.2)."""
    return True


def topic(binding: Binding, message: Message) -> bool:
    """Match word by word; `*` is one word, `#` zero or more (3.1.3.3)."""
    return topic_matches(_words(binding.routing_key), _words(message.routing_key))


def _words(key: str) -> list[str]:
    return key.split(".") if key else []


def topic_matches(pattern: list[str], words: list[str]) -> bool:
    """Say whether the words match the pattern, in time that grows with the product of both lengths."""
    # possible[i]: the pattern so far can match the first i words.
    possible = [True] + [False] * len(words)
    for part in pattern:
        if part == "#":
            first = possible.index(True) if True in possible else len(possible)
            possible = [at >= first for at in range(len(possible))]
        else:
            matched = [False]
            for at, word in enumerate(words):
                matched.append(possible[at] and part in ("*", word))
            possible = matched
    return possible[-1]


def headers(binding: Binding, message: Message) -> bool:
    """Match the headers property against the binding's arguments, by x-match (3.1.3.4)."""
    wanted = {name: value for name, value in binding.arguments.items() if not name.startswith("x-")}
    matches = (
        name in message.headers and (value is None or _same(message.headers[name], value))
        for name, value in wanted.items()
    )
    return any(matches) if binding.arguments.get("x-match") == "any" else all(matches)


def _same(one: object, other: object) -> bool:
    # In Python True equals 1; in a table they are values of different types.
    return isinstance(one, bool) == isinstance(other, bool) and one == other


ROUTING: Final[Mapping[str, Matching]] = {
    "direct": direct,
    "fanout": fanout,
    "topic": topic,
    "headers": headers,
}
"""The supported exchange types, each with its way of matching."""
