"""Scenarios of connections: what is promised, how they are refused, how their secrets are renewed."""
