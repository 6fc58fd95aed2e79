"""Hold vendors' claims against what was measured."""
