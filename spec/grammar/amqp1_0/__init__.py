"""Rules that the definitions of AMQP 1.0 Part 2 oblige to."""
