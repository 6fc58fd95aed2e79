"""Every command that the README and the pages beside it show is one that can be typed."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conformance.commands import clicked
from reports.commands.cli import main

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted(
    page for page in ROOT.glob("*/**/README.md") if ".venv" not in page.parts
)


def shown(page: Path) -> Iterator[str]:
    """Give each command of a page: in blocks, where a line may go on in the next one, and in sentences."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```\n(.*?)^```", text, re.S | re.M):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("amqp-conformance "):
                yield line
    yield from re.findall(r"`(amqp-conformance [a-z][^`]*)`", text)


COMMANDS = [(page.relative_to(ROOT), line) for page in PAGES for line in shown(page)]


def test_the_readme_is_short() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").split()) <= 1200


def test_pages_show_commands() -> None:
    assert len(COMMANDS) > 40
    assert {str(page) for page, _ in COMMANDS} >= {"README.md", "conformance/README.md", "reports/README.md"}


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}: {line}" for page, line in COMMANDS])
def test_a_command_that_a_page_shows_can_be_typed(
    page: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clicked, "newest", lambda: Path("runs/1"))
    words = shlex.split(line, comments=True)[1:]
    node: click.Command = main
    context = click.Context(main)
    while isinstance(node, click.Group) and words:
        found = node.get_command(context, words[0])
        assert found is not None, f"{page}: there is no command {words[0]!r}"
        node = found
        words.pop(0)
    node.make_context(node.name, words, resilient_parsing=False)
