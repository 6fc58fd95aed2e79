"""The fault dictionary, computed on Spark."""
