"""Ranges of a product's versions, such as ">=4.0,<4.3": what is said of some versions and not of others."""

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

_ENDS = ("<", "<=", "==", "===", "~=")


def versions(text: str) -> SpecifierSet:
    """Read a range. Raises ValueError when `text` is none."""
    try:
        found = SpecifierSet(text)
        for each in found:
            each.contains("0")  # only now are its numbers read
    except InvalidSpecifier as failure:
        raise ValueError(str(failure)) from None
    return found


def holds(text: str, number: str) -> bool:
    """Say whether the range in `text` has the version `number`, such as "3.10.8"; an empty one has all."""
    return not text or versions(text).contains(Version(number), prereleases=True)


def is_past(text: str) -> bool:
    """Say whether the range in `text` ends somewhere: then it is no longer said of what comes after."""
    return any(each.operator in _ENDS for each in versions(text))
