"""Rules that a grammar obliges to: families, their members, what is derived from both."""
