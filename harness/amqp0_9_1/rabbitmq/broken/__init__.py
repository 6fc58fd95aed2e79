"""What is wrong with peers of the extensions: faults of their tables, a module for each area."""
