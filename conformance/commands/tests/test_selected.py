"""What selectors come to is told before anything is judged, and not among what is shown."""

import pytest
from click.testing import CliRunner

from conformance.commands import listing
from conformance.commands.cli import main

SELECTORS = ("class:tx", "level:must")


@pytest.mark.parametrize("command", [("run", "--list"), ("detect",)])
def test_the_count_of_a_selection_is_told(command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*command, *SELECTORS])
    listed = CliRunner().invoke(main, ["rules", *SELECTORS]).stdout.splitlines()[0]
    assert done.stderr.splitlines()[0] == f"{listed} selected"
    assert "rules selected" not in done.stdout
    assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []


def test_what_became_of_a_deviation_is_one_line_where_nobody_has_a_terminal() -> None:
    done = CliRunner().invoke(main, ["detect", "0-9-1/queue.bind.exchange.exchange-existence"])
    assert done.exit_code == 0
    came = "fail queue.bind-ok instead of channel.close 404 (not-found)"
    assert any(line.startswith(f"killed  binds to nothing  {came}") for line in done.stdout.splitlines())
    assert done.stdout.splitlines()[-1].startswith("3 deviations of 1 rule: 3 killed, ")


def test_without_selectors_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # What all of them would declare is another test's, and takes long.
    monkeypatch.setattr(listing, "listing", lambda found, *_: [])
    done = CliRunner().invoke(main, ["run", "--list"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "0 of 0 tests would be judged" in done.stdout
