"""Hold builds beside each other: matrix, comparison, coverage."""
