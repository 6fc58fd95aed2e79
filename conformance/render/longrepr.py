"""What pytest shows of a rule that was not kept: the explanation that all reports give, with its frames."""

from pathlib import Path

from conformance.evidence.explanation import as_text, explain
from conformance.evidence.kinds import Judged
from conformance.evidence.stream import read
from conformance.render.allure import message
from conformance.render.rendering import named
from spec.catalogue import catalogue


def longrepr(judged: Judged, run: Path) -> str:
    """Explain a test's verdict from what the run under way has kept of its connection."""
    exchange = read(run, on=judged.connection) if judged.connection else ()
    explained = explain(judged, catalogue()[judged.rule], exchange, named, str(run))
    return f"{message(judged)}\n\n{as_text(explained)}"
