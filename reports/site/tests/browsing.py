"""A page in a real browser, with all that it does noted, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@dataclass
class Seen:
    """What a page did that it should not, and what it asked for."""

    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Browser, path: Path, before: str = "", **context: Any) -> Iterator[tuple[Page, Seen]]:
    """Open the page at `path`, noting all it does; `before` runs in it before its own script."""
    seen = Seen()
    surroundings = browser.new_context(**context)
    page = surroundings.new_page()
    page.on("request", lambda request: seen.asked.append(request.url))
    page.on("console", lambda message: seen.wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda failure: seen.wrong.append(f"error: {failure}"))
    page.on("requestfailed", lambda request: seen.wrong.append(f"failed: {request.url}"))

    def refuse(dialog: Any) -> None:
        seen.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    if before:
        page.add_init_script(before)
    page.goto(path.as_uri())
    try:
        yield page, seen
    finally:
        surroundings.close()
