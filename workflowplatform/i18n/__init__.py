"""Catalogues of texts in other languages."""
