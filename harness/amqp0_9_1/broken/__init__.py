"""Break the 0-9-1 peer: deviations, mutants, fakes; and what changes nothing that matters."""
