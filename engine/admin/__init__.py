"""The admin's pages: authoring, operating, people. Importing this registers them."""

from engine.admin import (
    audit,
    bulk_acts,
    clocks,
    instances,
    operations,
    people,
    setting_up,
    templates,
    tokens,
    webhooks,
)

__all__ = [
    "audit",
    "bulk_acts",
    "clocks",
    "instances",
    "operations",
    "people",
    "setting_up",
    "templates",
    "tokens",
    "webhooks",
]
