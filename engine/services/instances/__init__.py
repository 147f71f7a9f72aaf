"""Start, signal, repair and end instances."""
