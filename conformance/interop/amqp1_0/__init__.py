"""What measuring legs needs to know of 1.0."""
