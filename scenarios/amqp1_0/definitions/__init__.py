"""Checks of section 2.8, definitions."""
