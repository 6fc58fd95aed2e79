"""A comparison and an audit as pages: of the site, or each as one file that is ready to be attached."""

from collections.abc import Mapping
from typing import Any

from conformance.render.html.environment import alone, environment
from reports.audit.audit import Audit, called
from reports.audit.audit_table import Status
from reports.compare.comparison import Comparison, Kind


def comparison_page(comparison: Comparison) -> str:
    """Give a comparison as a page that asks nothing of any other file."""
    return alone(environment("reports.site"), "compare.html.j2", **compared(comparison))


def audit_page(audit: Audit) -> str:
    """Give an audit as a page that asks nothing of any other file."""
    return alone(environment("reports.site"), "audit.html.j2", **audited(audit))


def compared(comparison: Comparison) -> Mapping[str, Any]:
    """Give the values for the page of a comparison."""
    return {
        "comparison": comparison,
        "sides": (("old", comparison.old), ("new", comparison.new)),
        "kinds": [(kind, found) for kind in Kind if (found := comparison.of(kind))],
    }


def audited(audit: Audit) -> Mapping[str, Any]:
    """Give the values for the page of an audit."""
    return {
        "audit": audit,
        "called": called,
        "statuses": [(status, audit.of(status)) for status in Status],
    }
