"""Run the scenarios and say what happened: generator, verdicts, evidence, gate, command line."""
