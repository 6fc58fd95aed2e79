"""The static site: compliance matrix, a page per rule and per target, coverage; self-contained."""
