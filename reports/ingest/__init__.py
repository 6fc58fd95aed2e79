"""Bring run folders into a warehouse."""
