"""The pages about clients and brokers: all of them, the history of each client, versions compared."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from markupsafe import Markup

from conformance.interop.outcomes import MEANINGS, SYMBOLS
from conformance.render.html.environment import alone, environment, style
from reports.interop.comparison import CHANGES, Comparison
from reports.interop.found import Interop, stretches
from reports.interop.text import ALONE, ONE_SIDED
from reports.model.findings import Build
from reports.site.names import build_name
from reports.site.press import Press

_EVERYWHERE: Mapping[str, Any] = {
    "symbols": SYMBOLS,
    "meanings": MEANINGS,
    "stretches": stretches,
    "alone": ALONE,
}


def interop_pages(press: Press, found: Interop) -> None:
    """Print the pages of `found` into the site."""
    comparisons = {_compared_page(each): each for each in found.comparisons}
    clients = {_client_page(each): each for each in found.by_client()}
    told = {"found": found, "comparisons": comparisons, "client_page": _client_page, **_EVERYWHERE}
    press.page("interop.html", "interop.html.j2", **told)
    for page, client in clients.items():
        press.page(
            page, "interop_client.html.j2", client=client, history=found.by_client()[client], **_EVERYWHERE
        )
    for page, each in comparisons.items():
        press.page(page, "interop_compare.html.j2", **compared(each))


def comparison_page(comparison: Comparison) -> str:
    """Give a comparison as a page that asks nothing of any other file."""
    css = style() + interop_style()
    return alone(
        environment("reports.site"),
        "interop_compare.html.j2",
        **compared(comparison),
        css=Markup(css),
        digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
    )


def interop_style() -> str:
    """Give what these pages add to the style of all."""
    return resources.files("reports.site").joinpath("assets", "interop.css").read_text(encoding="utf-8")


def compared(comparison: Comparison) -> Mapping[str, Any]:
    """Give the values for the page of a comparison."""
    kinds = [(kind, found) for kind in CHANGES if (found := comparison.of(kind))]
    return {"comparison": comparison, "kinds": kinds, "one_sided": ONE_SIDED, **_EVERYWHERE}


def _client_page(client: str) -> str:
    """Name the page of a client; of none it is that of brokers by themselves."""
    return f"interop/{build_name(Build(client, '', 'brokers' if not client else ''))}.html"


def _compared_page(comparison: Comparison) -> str:
    new = comparison.pairing.new
    return f"interop/{build_name(Build(new.name, new.version, f'{new.who} compared'))}.html"
