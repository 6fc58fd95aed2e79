"""Break the 1.0 peer: deviations, mutants, fakes; and what changes nothing that matters."""
