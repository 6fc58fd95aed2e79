"""What is wrong with queues."""
