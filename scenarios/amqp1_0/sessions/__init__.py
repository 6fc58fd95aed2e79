"""Section 2.5: sessions, from begin to end, and the windows of their transfers."""
