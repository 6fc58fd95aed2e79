"""One browser for all tests of a module.

Skipped without Chromium and playwright; where brokers are required, their absence is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.targets.brokers_required import REQUIRED

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    missing = "" if CHROMIUM.exists() else f"{CHROMIUM} is not installed"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing = "playwright is not installed"
    if missing and os.environ.get(REQUIRED):
        pytest.fail(f"{missing} ({REQUIRED} is set)", pytrace=False)
    if missing:
        pytest.skip(missing)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()
