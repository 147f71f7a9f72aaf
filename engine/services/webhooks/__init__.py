"""Subscribe addresses outside to events, and deliver to them."""
