"""Section 2.6: links, their credit, and the deliveries on them."""
