"""Octets of AMQP 0-9-1: frames, methods, field tables, made from the grammar."""
