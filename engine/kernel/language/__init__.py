"""The language: shapes of a document, reading it with positions, checking it, and its canonical form."""
