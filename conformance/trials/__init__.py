"""Measure and fuzz the runner, for `make`. Nothing else imports it."""
