"""Start instances by the clock."""
