"""Rules that the definitions of Part 2 oblige to: one check for each family of them."""
