"""Checks of the rules in the XML's class channel, a module for each method."""
