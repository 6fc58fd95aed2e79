"""What the grammar asks of clients: of what they send, of what they are sent, and of what they tell."""
