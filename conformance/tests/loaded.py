"""Loads what every run loads first: see `conformance.tests.commands.FORKED`."""

from __future__ import annotations

from scenarios.registry import checks
from spec.catalogue import catalogue

catalogue()
checks()
