"""Rules that the grammar of AMQP 0-9-1 obliges to."""
