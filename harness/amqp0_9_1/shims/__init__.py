"""Shims of 0-9-1: one module for each library, around its own interface."""
