"""TOML read strictly: a wrong type, a missing key and a key that nobody asks for each get one sentence."""

from __future__ import annotations

import tomllib
from typing import Any, cast

from harness.targets.target import TargetError

LONGEST = 24 * 60 * 60
"""Seconds; what is longer is a slip of the pen."""


def read(text: str, source: str) -> Table:
    """Read `text` as a table; `source` names it in errors. Raises TargetError where it is not TOML."""
    try:
        return Table(tomllib.loads(text), source)
    except ValueError as error:  # TOML's own errors, and numbers of too many digits
        raise TargetError(f"{source}: {error}.") from None
    except RecursionError:
        raise TargetError(f"{source}: it is nested too deeply.") from None


class Table:
    """A TOML table that is read key by key; wrong types, and keys that nobody reads, raise TargetError."""

    def __init__(self, content: dict[str, Any], where: str) -> None:
        self._content = content
        self._where = where
        self._unread = set(content)
        self._inner: list[Table] = []

    def wrong(self, reason: str) -> TargetError:
        """Make the error for this table."""
        return TargetError(f"{self._where}: {reason}.")

    def text(self, key: str, default: str | None = None) -> str:
        """Read a string; it must be there unless there is a `default`."""
        return cast("str", self._get(key, str, default))

    def seconds(self, key: str) -> float:
        """Read a positive number that must be there, and that one can wait for."""
        value = self._get(key, (int, float))
        if not 0 < value <= LONGEST:
            raise self.wrong(f"{key} must be more than 0 and at most {LONGEST} (a day)")
        return float(value)

    def number(self, key: str, default: int) -> int:
        """Read a whole number, not negative; `default` if it is not there."""
        value = int(self._get(key, int, default))
        if value < 0:
            raise self.wrong(f"{key} must not be negative")
        return value

    def flag(self, key: str) -> bool:
        """Read true or false, false if it is not there."""
        return bool(self._get(key, bool, False))

    def texts(self, key: str, needed: bool = True) -> tuple[str, ...]:
        """Read a list of strings; where it is `needed` it must be there and not be empty."""
        values = self._get(key, list, None if needed else [])
        if (needed and not values) or not all(isinstance(value, str) for value in values):
            raise self.wrong(f"{key} must be a list of strings")
        return tuple(values)

    def commands(self, key: str) -> tuple[tuple[str, ...], ...]:
        """Read a list of commands, each a list of strings; empty if it is not there."""
        values = self._get(key, list, [])
        for words in values:
            if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
                raise self.wrong(f"{key} must be a list of lists of strings")
        return tuple(tuple(words) for words in values)

    def mapping(self, key: str) -> dict[str, str]:
        """Read a table of strings; empty if it is not there."""
        values = self._get(key, dict, {})
        if not all(isinstance(value, str) for value in values.values()):
            raise self.wrong(f"{key} must hold strings")
        return dict(values)

    def numbers(self, key: str) -> dict[str, int]:
        """Read a table of whole numbers that must be there and not be empty."""
        values = self._get(key, dict)
        if not values or not all(type(value) is int for value in values.values()):
            raise self.wrong(f"{key} must hold whole numbers")
        return dict(values)

    def has(self, key: str) -> bool:
        """Say whether the key is there; it counts as unread still."""
        return key in self._content

    def table(self, key: str) -> Table:
        """Read an inner table that must be there."""
        return self._within(self._get(key, dict), key)

    def tables(self, key: str) -> list[Table]:
        """Read a list of tables; empty if it is not there."""
        values = self._get(key, list, [])
        if not all(isinstance(value, dict) for value in values):
            raise self.wrong(f"{key} must be a list of tables")
        return [self._within(value, f"{key}[{number}]") for number, value in enumerate(values)]

    def each(self, key: str, read: Any) -> dict[str, Any]:
        """Apply `read` to each table inside the table `key`; empty if it is not there."""
        outer = self._within(self._get(key, dict, {}), key)
        return {name: read(outer.table(name)) for name in outer._content}

    def only(self, allowed: tuple[str, ...]) -> str:
        """Give the one key of this table, which must be one of `allowed`."""
        keys = list(self._content)
        if len(keys) != 1 or keys[0] not in allowed:
            raise self.wrong(f"has {', '.join(keys) or 'nothing'} where one of {', '.join(allowed)} belongs")
        return keys[0]

    def finish(self) -> None:
        """Raise TargetError for the first key, here or further in, that was not read."""
        for key in sorted(self._unread):
            raise self.wrong(f"{key} is not a key that is known here")
        for table in self._inner:
            table.finish()

    def _within(self, content: dict[str, Any], key: str) -> Table:
        self._inner.append(Table(content, f"{self._where}: {key}"))
        return self._inner[-1]

    def _get(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        self._unread.discard(key)
        value = self._content.get(key, default)
        if value is None:
            raise self.wrong(f"{key} is missing")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(f"{key} has the wrong type")
        return value
