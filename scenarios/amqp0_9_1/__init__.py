"""Scenarios of the AMQP 0-9-1 XML, a module per section."""
