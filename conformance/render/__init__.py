"""Tell a run: reports for people and for machines."""
