"""The demo: two tenants at work and one person above both, so that no page is empty."""

from engine.management.demo.seed import furnish

__all__ = ["furnish"]
