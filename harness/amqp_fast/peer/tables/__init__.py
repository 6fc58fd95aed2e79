"""The rows of the reference peer, a module for each part of the document."""
