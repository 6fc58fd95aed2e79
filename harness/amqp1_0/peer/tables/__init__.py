"""The behaviour of the 1.0 peer as rows."""
