"""The author's desk: the editor and what it asks, trying a draft, its forms, its changes, its versions, and new ones."""
