"""Delete ended work after its time."""
