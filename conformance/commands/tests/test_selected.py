"""What selectors come to is told before anything is judged, and not among what is shown."""

import pytest
from click.testing import CliRunner

from conformance.commands.cli import main

SELECTORS = ("class:tx", "level:must")


@pytest.mark.parametrize("command", [("run", "--list"), ("detect",)])
def test_the_count_of_a_selection_is_told(command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*command, *SELECTORS])
    listed = CliRunner().invoke(main, ["rules", *SELECTORS]).stdout.splitlines()[0]
    assert done.stderr.splitlines()[0] == f"{listed} selected"
    assert "rules selected" not in done.stdout


def test_without_selectors_nothing_is_told() -> None:
    assert CliRunner().invoke(main, ["run", "--list"]).stderr == ""
