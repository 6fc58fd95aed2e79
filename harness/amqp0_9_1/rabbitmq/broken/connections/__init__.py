"""What is wrong with connections."""
