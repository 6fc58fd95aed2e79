"""AMQP 0-9-1: codec, client, outcomes, reference peer, deviations."""
