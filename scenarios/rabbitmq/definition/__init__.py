"""Scenarios of what the extended definition says of methods and fields, a module per method."""
