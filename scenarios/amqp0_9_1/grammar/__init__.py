"""Checks of the families of rules that the grammar of AMQP 0-9-1 obliges to."""
