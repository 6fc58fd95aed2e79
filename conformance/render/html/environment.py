"""From templates to pages. All text that goes into a page passes here: made printable, then escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import partial
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from conformance.evidence.explanation import Shown
from conformance.evidence.octets import readable
from conformance.evidence.printable import printable
from conformance.evidence.tried import aside
from conformance.evidence.verdicts import TABLE

TEXT = 2000
"""Characters shown of one thing a peer said; the evidence has the rest."""
MEANING = 500
"""And of what a part of a frame is."""
HERE = "conformance.render.html"


def environment(*packages: str, **everywhere: Any) -> Environment:
    """Make what renders the templates of these `packages`, then ours; all of them know `everywhere`."""
    made = Environment(
        loader=FunctionLoader(partial(_template, (*packages, HERE))),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"clip": clip, "breakable": breakable, "readable": readable, "by_part": by_part}
    made.globals |= {"table": TABLE, "aside": aside, **everywhere}
    return made


def alone(made: Environment, template: str, **values: Any) -> str:
    """Render a page that is one file: its style stands in it, and its policy allows nothing else."""
    css = style()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    told = {"base": "alone.html.j2", "css": Markup(css), "digest": digest, "root": "", **values}
    return made.get_template(template).render(told)


def style() -> str:
    """Give the style of all pages; how each verdict looks beside its word follows from the table."""
    symbols = "".join(f".{row.verdict}::before {{ {_content(row.symbol)} }}\n" for row in TABLE)
    return resources.files(HERE).joinpath("assets", "style.css").read_text(encoding="utf-8") + symbols


def _template(packages: tuple[str, ...], name: str) -> str | None:
    for package in packages:
        file = resources.files(package).joinpath("templates", name)
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None


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


def by_part(frame: Shown) -> Markup:
    """Lay out the octets of a frame, a line for each part of them, with what that is.

    Done in one piece, because most of a site's text is these lines.
    """
    width = frame.width
    lines = (
        f"{part.offset:5}  {part.octets:{width}}  {clip(part.meaning, MEANING)}"
        if part.meaning
        else f"{part.offset:5}  {part.octets}"
        for part in frame.parts
    )
    return escape("".join(f"{printable(line)}\n" for line in lines))


def breakable(identity: str) -> Markup:
    """Allow `identity` to go on in the next line after each of its dots."""
    return Markup(".<wbr>").join(escape(part) for part in printable(identity).split("."))
