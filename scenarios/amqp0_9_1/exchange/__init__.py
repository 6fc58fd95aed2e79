"""Checks of the rules in the XML's class exchange."""
