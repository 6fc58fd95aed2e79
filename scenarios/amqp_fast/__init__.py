"""Scenarios of AMQ RFC 006, AMQP/Fast."""
