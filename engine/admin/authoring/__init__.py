"""Pages for authors: the editor and its API, trial runs, forms, changes, versions, and new templates."""
