"""What a faulty server of AMQP/Fast does, and what a legal one may."""
