"""Judge: cases, judges, the run on a target."""
