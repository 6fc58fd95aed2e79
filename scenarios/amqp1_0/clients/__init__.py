"""What clients are judged by: what they answer to our server, and what they send of their own."""
