"""Tell people what concerns them: what to tell, when, and over which channels."""
