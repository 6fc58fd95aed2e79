"""What queues keep, how long, how much, in which order, and where it goes then."""
