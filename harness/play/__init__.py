"""What a scenario plays with in any protocol: the link, its context, expectations, the fixture."""
