"""What a run is told as: on a terminal, and on a page."""
