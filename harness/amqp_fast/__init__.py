"""AMQP/Fast (AMQ RFC 006)."""
