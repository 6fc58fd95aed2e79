"""Clients under test: what they are told, what they answer, and how their programs are run."""
