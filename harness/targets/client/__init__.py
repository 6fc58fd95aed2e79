"""Targets that connect: client libraries under test."""
