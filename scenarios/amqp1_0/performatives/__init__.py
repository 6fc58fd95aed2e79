"""Checks of section 2.7, the performatives."""
