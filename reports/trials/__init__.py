"""Measure the warehouse, for `make`. Nothing else imports it."""
