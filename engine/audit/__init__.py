"""The audit: hash chains per subject, their keys, a cursor that loses nothing, and replay."""
