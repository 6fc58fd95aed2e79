"""Clients of AMQP 1.0 and their connections: streams, channels, opening, closing, silence (2.1 to 2.5)."""
