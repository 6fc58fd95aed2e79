"""Octets of AMQP/Fast: fields, commands, messages, frames, made from the grammar."""
