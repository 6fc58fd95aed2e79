"""Our server's side, with which clients of 1.0 are judged: their connections as the peer sees them."""
