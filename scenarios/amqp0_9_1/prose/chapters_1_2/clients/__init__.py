"""What the same chapter asks of clients."""
