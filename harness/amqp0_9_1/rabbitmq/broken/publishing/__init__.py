"""What is wrong with confirms, alarms, transactions, and what is not supported."""
