"""Checks of the rules in the XML's class basic."""
