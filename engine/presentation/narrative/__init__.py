"""Describe in words where a case is and what happened to it, the same on every page."""
