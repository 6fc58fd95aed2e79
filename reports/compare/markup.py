"""Text of peers and vendors in reports of ours: what `comparison_text` and `audit_text` share.

In Markdown only words of our own are Markdown. All else stands in blocks of HTML, where Markdown has no
meaning, with HTML's own characters escaped, inside `code`. Such a block ends at an empty line, so it has
none.
"""

from collections.abc import Iterable, Sequence
from html import escape

from rich.text import Text

from conformance.evidence.printable import printable


def code(text: str) -> str:
    """Escape `text` for a block of HTML: on one line, shown letter by letter; nothing for nothing."""
    return f"<code>{escape(printable(text))}</code>" if text else ""


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table as a block of HTML; `rows` are cells that are HTML already."""
    lines = ["<table>", f"<tr>{''.join(f'<th>{each}</th>' for each in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def shown(text: str, style: str = "") -> Text:
    """Prepare `text` for a terminal: neither markup nor control sequences of a peer get through."""
    return Text(printable(text), style=style)
