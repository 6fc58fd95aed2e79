"""What a run depended on besides its target, and what a peer said of itself, as plain values."""

import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version
from math import isfinite
from typing import Any


def environment() -> dict[str, Any]:
    """Give what a run depended on besides the target."""
    return {
        "python": sys.version.split()[0],
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "pytest": version("pytest"),
        "lxml": version("lxml"),
    }


def plain(value: Any) -> Any:
    """Give `value` in types that JSON has; what a peer said stays readable."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return value if isinstance(value, str | int | None) else str(value)
