"""Checks of chapters 1 and 2: terms, the functional specification."""
