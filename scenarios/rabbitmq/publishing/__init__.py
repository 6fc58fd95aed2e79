"""Scenarios of publishing: confirms, blocked connections, who publishes."""
