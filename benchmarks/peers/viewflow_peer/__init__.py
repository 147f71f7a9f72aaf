"""Viewflow: a Django project of its own, with its own database on the same server. `__main__` says what it does."""
