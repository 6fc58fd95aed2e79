"""Rows of cells, one line each: on a terminal in columns and cut to its width, elsewhere plain and whole."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from conformance.evidence.printable import printable

Cell = str | Text
GAP = "  "
"""What stands between two cells."""


def show_rows(table: Iterable[Sequence[Cell]], console: Console, head: Sequence[str] = ()) -> None:
    """Print each row of `table` as one line; on a terminal below `head`, in columns.

    The first cell is never cut: it is what people copy. Texts of peers become printable.
    """
    lines = [[_text(cell) for cell in row] for row in table]
    if console.is_terminal and head and lines:
        lines.insert(0, [Text(name, style="bold") for name in head])
    count = max(map(len, lines), default=0)
    widths = [max((row[at].cell_len for row in lines if at < len(row)), default=0) for at in range(count)]
    for row in lines:
        console.print(_line(row, widths, console), soft_wrap=True)


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(printable(cell))


def _line(row: Sequence[Text], widths: Sequence[int], console: Console) -> Text:
    if not console.is_terminal:
        return Text(GAP).join(cell for cell in row if cell)
    padded = [
        Text.assemble(cell, " " * (width - cell.cell_len)) for cell, width in zip(row, widths, strict=False)
    ]
    line = Text(GAP).join(padded)
    line.rstrip()
    line.truncate(max(console.width, row[0].cell_len), overflow="ellipsis")
    return line
