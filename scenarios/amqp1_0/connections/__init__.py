"""Checks of sections 2.1 to 2.4: versions, frames, connections."""
