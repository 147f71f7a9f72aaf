"""Notify people of what concerns them: of what, when, and over which channels."""
