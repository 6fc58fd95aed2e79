"""Lets pytest's own `--alluredir` tell the verdicts as our reports do: nine, not three.

allure-pytest knows passed, failed and skipped; the result of a judged test gets its status, labels and
identity from the table of verdicts instead, before it is written.
"""

from typing import Any

import allure_commons
import pytest
from allure_commons.model2 import Label, StatusDetails

from conformance.evidence.kinds import Judged
from conformance.evidence.printable import printable
from conformance.render import allure
from spec.catalogue import catalogue


class Followed:
    """Rewrites each Allure result by the verdict that its test came to; one test at a time."""

    def __init__(self) -> None:
        self.judged: Judged | None = None

    @allure_commons.hookimpl(tryfirst=True)
    def report_result(self, result: Any) -> None:
        """Rewrite a result that is about to be written; one that was never judged stays as it is."""
        judged, self.judged = self.judged, None
        if judged is None:
            return
        rule = next((rule for rule in catalogue().rules if rule.id == judged.rule), None)
        result.status = judged.verdict.row.allure
        result.statusDetails = StatusDetails(message=allure.message(judged), trace=printable(judged.detail))
        result.name = result.fullName = judged.test
        result.historyId = result.testCaseId = allure.history_of(judged)
        result.labels = [Label(**label) for label in allure.labels(judged, rule)]


_FOLLOWED = Followed()


def follow_verdicts(config: pytest.Config) -> None:
    """Hook into allure-pytest, when this session uses it."""
    allure_plugins = allure_commons.plugin_manager
    if config.getoption("allure_report_dir", None) and not allure_plugins.is_registered(_FOLLOWED):
        allure_plugins.register(_FOLLOWED)


def told_to_allure(judged: Judged) -> None:
    """Note what the test under way came to; forgotten when no Allure result is written."""
    _FOLLOWED.judged = judged
