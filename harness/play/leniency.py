"""Faults of a peer that are read all the same, as data: each protocol has its own, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Leniency:
    """A fault that an exchange survives: the `rule` it breaks (an identity), and what it is `read_as`."""

    rule: str
    read_as: str
