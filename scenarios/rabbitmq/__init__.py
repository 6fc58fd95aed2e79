"""Scenarios of what RabbitMQ adds to AMQP 0-9-1: by its definition, and by area where guides say it."""
