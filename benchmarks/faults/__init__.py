"""Break the platform on purpose and count what that cost: `python -m benchmarks.faults` prints one table."""
