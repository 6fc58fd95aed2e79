"""From findings to what causes them: a dictionary of known faults, and who explains a run best."""
