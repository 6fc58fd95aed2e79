"""What is promised, log-ins, permissions, types of field tables."""
