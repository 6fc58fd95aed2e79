"""What is wrong with ways of messages."""
