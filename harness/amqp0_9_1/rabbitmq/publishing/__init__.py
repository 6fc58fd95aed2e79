"""Confirms, alarms, transactions, and what is not supported."""
