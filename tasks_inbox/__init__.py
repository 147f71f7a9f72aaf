"""The inbox: the pages on which people start, claim and complete work."""
