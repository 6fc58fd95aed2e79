"""The behaviour of the 0-9-1 peer as rows, a module for each class."""
