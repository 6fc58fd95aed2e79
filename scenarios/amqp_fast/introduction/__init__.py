"""Scenarios of AMQ RFC 006, chapters 1 and 2."""
