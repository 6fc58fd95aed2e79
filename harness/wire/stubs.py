"""Stub files of generated classes: what the writers of all protocols lay out alike."""

from collections.abc import Iterator, Sequence

_WIDTH = 110


def initialiser(arguments: Sequence[str], indent: str) -> Iterator[str]:
    """Lay out `__init__` as the formatter would, on one line or one for each argument, `self` the first."""
    line = f"{indent}def __init__({', '.join(arguments)}) -> None: ..."
    if len(line) <= _WIDTH:
        yield line
        return
    yield f"{indent}def __init__("
    yield from (f"{indent}    {argument}," for argument in arguments)
    yield f"{indent}) -> None: ..."
