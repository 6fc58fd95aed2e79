"""Octets as people write them: what can be read as text, all else in hexadecimal, with how many there are."""

import re
from ast import literal_eval

LONGEST = 16
"""Octets, or characters of a text, that are written out; of longer ones the beginning and the count."""
_LITERAL = re.compile(r"""(?<![\w.'"])b(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def hexadecimal(octets: bytes, limit: int = LONGEST) -> str:
    """Write octets in pairs of digits, `01 00 0a`; what goes beyond the limit is cut."""
    return octets.hex(" ") if len(octets) <= limit else f"{octets[:limit].hex(' ')} ..."


def written(octets: bytes) -> str:
    """Write octets with their count: `"kept" (4 octets)`, `01 00 0a (3 octets)`."""
    count = "1 octet" if len(octets) == 1 else f"{len(octets)} octets"
    if octets.isascii() and (text := octets.decode("ascii")).isprintable():
        cut = text if len(text) <= 4 * LONGEST else f"{text[: 4 * LONGEST]}..."
        return f'"{cut}" ({count})'
    return f"{hexadecimal(octets)} ({count})"


def readable(text: str) -> str:
    """Give a line of evidence for people: octets that stand in it as Python's literals are `written`."""
    return _LITERAL.sub(_literal, text) if "b'" in text or 'b"' in text else text


def _literal(match: re.Match[str]) -> str:
    try:
        value = literal_eval(match[0])
    except (ValueError, SyntaxError):  # what a peer said may look like one
        return match[0]
    return written(value) if isinstance(value, bytes) else match[0]
