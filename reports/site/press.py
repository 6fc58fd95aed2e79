"""From templates to files. All text that goes into a page passes here: made printable, then escaped."""

from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from conformance.evidence.printable import printable
from conformance.evidence.verdicts import TABLE

TEXT = 2000
"""Characters shown of one thing a peer said; the evidence has the rest."""


class Press:
    """Prints pages into `folder`; `everywhere` is known to every template."""

    def __init__(self, folder: Path, **everywhere: Any) -> None:
        self.folder = folder
        self.written: list[Path] = []
        self._environment = Environment(
            loader=FunctionLoader(_template),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_safe,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {"clip": clip, "breakable": breakable}
        self._environment.globals |= {"table": TABLE, **everywhere}

    def page(self, name: str, template: str, **values: Any) -> None:
        """Write the page `name` (relative to the site) as it comes, never whole in memory."""
        values["root"] = "../" * name.count("/")
        with self._file(name).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(self._environment.get_template(template).generate(values))

    def text(self, name: str, pieces: Any) -> None:
        """Write a file that is no page."""
        with self._file(name).open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)

    def assets(self) -> None:
        """Write the style and the script; how each verdict looks beside its word follows from the table."""
        symbols = [f".{row.verdict}::before {{ {_content(row.symbol)} }}\n" for row in TABLE]
        self.text("assets/site.css", [_asset("site.css"), *symbols])
        self.text("assets/site.js", [_asset("site.js")])

    def room(self, name: str) -> Path:
        """Make room for the file `name`, which another writer writes; gives its path."""
        return self._file(name, written=False)

    def _file(self, name: str, written: bool = True) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if written:
            self.written.append(path)
        return path


def _template(name: str) -> str:
    return _read("templates", name)


def _asset(name: str) -> str:
    return _read("assets", name)


def _read(*path: str) -> str:
    return resources.files("reports.site").joinpath(*path).read_text(encoding="utf-8")


def _content(symbol: str) -> str:
    # U+FE0E asks for a letter where a system has a picture. The empty alternative keeps readers to the word.
    letter = f'"{symbol}\ufe0e"' if not symbol.isascii() else f'"{symbol}"'
    return f'content: {letter}; content: {letter} / "";'


def _safe(value: Any) -> Any:
    """Make printable what a template says in braces.

    What is markup already was made of pieces that came through here.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return printable(value)


def clip(text: str, limit: int = TEXT) -> str:
    """Cut `text` after `limit` characters and say how long it is; give shorter text as it is."""
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)"


def breakable(identity: str) -> Markup:
    """Allow `identity` to go on in the next line after each of its dots."""
    return Markup(".<wbr>").join(escape(part) for part in printable(identity).split("."))
