"""What measuring legs needs to know of 0-9-1."""
