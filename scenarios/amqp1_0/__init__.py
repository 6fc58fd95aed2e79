"""Scenarios of AMQP 1.0, a module per section; its name begins with the section's number."""
