"""A frame-level client of AMQP/Fast, and what a scenario says with it."""
