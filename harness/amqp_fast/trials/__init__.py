"""Trials of AMQP/Fast: fuzzing, hostile servers, what the codec costs."""
