"""Scenarios of the way of a message: between exchanges, to further keys, back to who asked."""
