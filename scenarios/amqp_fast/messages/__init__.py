"""Scenarios of AMQ RFC 006, section 3.4."""
