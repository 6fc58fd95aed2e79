"""The frame-level client of AMQP 0-9-1 and what scenarios say with it."""
