"""The static site: compliance matrix, a page per rule and per target, coverage; self-contained."""

from __future__ import annotations

from reports.site.data import SiteData
from reports.site.publishing import SiteError
from reports.site.rendering import render

__all__ = ["SiteData", "SiteError", "render"]
