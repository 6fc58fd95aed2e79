"""The commands that need more than one run."""
