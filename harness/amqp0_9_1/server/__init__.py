"""Our server's side, with which clients are judged: their connections as the peer sees them."""
