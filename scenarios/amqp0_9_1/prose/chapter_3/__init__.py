"""Checks of chapter 3, how entities behave."""
