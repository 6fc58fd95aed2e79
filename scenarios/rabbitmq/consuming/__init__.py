"""Scenarios of consuming: prefetch, priorities, who is active, and what ends it."""
