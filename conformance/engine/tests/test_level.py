"""The level of the gate has one default, whoever asks."""

from pathlib import Path

import yaml

from conformance.engine.options import Options

HOME = Path(__file__).parents[3]
LEVEL = Options().level


def test_what_others_copy_has_the_same_default() -> None:
    action = yaml.safe_load((HOME / "ci/action/action.yml").read_text())
    assert action["inputs"]["level"]["default"] == LEVEL
    assert (
        f"AMQP_CONFORMANCE_LEVEL: {LEVEL}\n"
        in (HOME / "ci/gitlab/amqp-conformance.gitlab-ci.yml").read_text()
    )
    assert f"${{LEVEL:-{LEVEL}}}" in (HOME / "ci/compose.yaml").read_text()


def test_make_asks_for_no_level_of_its_own() -> None:
    assert "LEVEL  ?=" not in (HOME / "Makefile").read_text()
    assert "$(if $(LEVEL),--level '$(LEVEL)')" in (HOME / "Makefile").read_text()
