"""What a run keeps and what is read from it: events, verdicts, results, the capture."""
