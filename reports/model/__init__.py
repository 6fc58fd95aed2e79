"""Rows and findings: the evidence of runs as data."""
