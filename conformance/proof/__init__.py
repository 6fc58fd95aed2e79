"""Prove the checks themselves: deviations, mutants, runs that must agree, fuzzing, costs."""
