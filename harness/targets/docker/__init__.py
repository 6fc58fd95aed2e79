"""Targets in containers of a Docker Engine."""
