"""Playing cases: clients behind relays at brokers, and legs made of what was seen."""
