"""Check what a document means once it could be read: one module per family of rules."""
