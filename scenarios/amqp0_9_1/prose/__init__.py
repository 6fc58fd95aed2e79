"""Checks of the prose of AMQP 0-9-1, a module for each section."""
