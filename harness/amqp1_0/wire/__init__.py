"""Octets of AMQP 1.0: types, frames, performatives, made from the grammar."""
