"""What clients and brokers made of each other's messages, over runs and versions."""
