"""Client libraries of 1.0 as shims, our own among them."""
