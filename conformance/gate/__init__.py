"""Certified or not: the gate, and baselines of accepted verdicts."""
