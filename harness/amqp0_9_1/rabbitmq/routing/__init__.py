"""Exchanges bound to exchanges, alternate exchanges, further keys, replies."""
