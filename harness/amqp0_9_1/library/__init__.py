"""Our own client of 0-9-1 as a library: whole, strict, and judged like any other by the rules of clients."""
