"""Scenarios of AMQ RFC 006, sections 3.5.9 to 3.8."""
