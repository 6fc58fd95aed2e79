"""Files that come with the suite and that a command takes by name: `@rabbitmq-4.3` among the baselines."""

from importlib.resources import files
from pathlib import Path

MARK = "@"


class NotShippedError(Exception):
    """Nothing of that name comes with the suite; the message is one sentence."""


def shipped(folder: str, given: str | Path) -> Path | None:
    """Find the file in `folder` of `ci` that `given` names; None where it names a path instead.

    Raises NotShippedError with the names that there are.
    """
    if not str(given).startswith(MARK):
        return None
    name = str(given).removeprefix(MARK)
    there = {path.stem: path for path in (Path(str(files("ci"))) / folder).glob("*.toml")}
    if name not in there:
        known = ", ".join(f"{MARK}{each}" for each in sorted(there))
        raise NotShippedError(f"nothing called {MARK}{name} comes with the suite; {folder} are {known}")
    return there[name]
