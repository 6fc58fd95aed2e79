"""Pages for people: the one of a run, and what those of the site are made with."""
