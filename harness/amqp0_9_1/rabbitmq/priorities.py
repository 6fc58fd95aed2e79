"""Queues with priorities, for those that ask for them by an argument."""

HIGHEST = 255
"""The highest priority a queue can be declared with."""


def every_priority(_: int, priority: int) -> int:
    """Give every priority a level of its own; of a queue with fewer the highest is for all above it."""
    return priority
