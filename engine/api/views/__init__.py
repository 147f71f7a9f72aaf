"""Views translate: request → service or access → shape. No rule lives here."""
