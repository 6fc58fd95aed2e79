"""A finding as it is handed to a vendor: what was said, in short, and a script that plays it without us."""
