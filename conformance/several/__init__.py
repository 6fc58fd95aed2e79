"""Judge several targets at once."""
