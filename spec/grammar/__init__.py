"""Rules that the grammar of AMQP 0-9-1 obliges to: families, their members, what is derived from both."""
