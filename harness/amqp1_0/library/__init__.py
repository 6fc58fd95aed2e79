"""Our own client of 1.0: a small library, strict, that is judged like any other."""
