"""Checks of chapter 4, the transport."""
