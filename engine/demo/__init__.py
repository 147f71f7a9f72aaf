"""The demo: two tenants at work and one person above both, so that no page is empty."""

from engine.demo.furnishing import furnish

__all__ = ["furnish"]
