"""Checks of the rules in the XML's class connection, a module for each method."""
