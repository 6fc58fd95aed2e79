"""Carry and read octets, whatever protocol they are of: transports, TLS, SASL, the journal of what passed."""
