"""One executable scenario per rule, a folder per document, a module per section."""
