"""Keep the rows of many runs, and ask them on Spark."""
