"""What is required: documents, their rules and grammar, and the ledger of their sentences."""
