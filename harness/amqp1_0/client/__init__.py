"""The frame-level client of AMQP 1.0 and what scenarios say with it."""
