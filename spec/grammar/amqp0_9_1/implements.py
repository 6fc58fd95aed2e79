"""Which methods a rule that the grammar of AMQP 0-9-1 obliges to says are implemented."""

from collections.abc import Iterator

from spec.readers.amqp0_9_1 import Grammar, Method

EXCHANGED = ("answers", "implemented")
"""Families that say of a request and its response that both are there."""
TELLING = (*EXCHANGED, "no-wait", "bit", "carries", "keeps")
"""Families that say whether a method is implemented: that it is there, what it carries, what its bits decide.
How a broken one is refused is another matter, which who calls a method implemented has not spoken of."""


def implemented(family: str, method: Method | None, spec: Grammar) -> tuple[str, ...]:
    """List the full names of the methods that a rule of `family` about `method` says are implemented.

    Its own comes first.
    """
    return tuple(dict.fromkeys(_told(family, method, spec))) if method and family in TELLING else ()


def _told(family: str, method: Method, spec: Grammar) -> Iterator[str]:
    yield method.full_name
    if family in EXCHANGED:
        yield from (f"{method.class_name}.{each}" for each in method.responses)
        same_class = (each for each in spec.methods.values() if each.class_name == method.class_name)
        yield from (each.full_name for each in same_class if method.name in each.responses)
