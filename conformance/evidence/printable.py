"""What a peer said, made safe to show: on a terminal, in XML, in a packet's comment."""

import unicodedata

_UNSAFE = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    r"""Give `text` on one line without control characters: each becomes a visible escape such as `\x1b`.

    Direction marks, lone surrogates and unassigned characters count as control characters. A backslash
    stays as it is: this is for reading, not for reading back.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    return character.encode("unicode_escape").decode("ascii")
