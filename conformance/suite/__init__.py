"""The generated tests; collected by a run, never by the project's own tests."""
