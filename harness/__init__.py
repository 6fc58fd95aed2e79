"""How to talk and listen: wire, codecs, clients, reference peers, deviations, targets."""
