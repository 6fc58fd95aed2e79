"""What verdicts mean over rules, targets, builds and time."""
