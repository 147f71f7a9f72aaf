"""People, their roles and tokens, sign-ins, and erasure."""
