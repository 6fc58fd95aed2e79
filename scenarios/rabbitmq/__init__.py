"""Scenarios of what RabbitMQ adds to AMQP 0-9-1, a module per method."""
