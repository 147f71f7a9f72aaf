"""The admin's pages: authoring, operating, people. Importing this registers them."""

from engine.admin import (
    audit,
    bulk_operations,
    calendars,
    instances,
    operations,
    people,
    retention,
    schedules,
    secrets,
    templates,
    tokens,
    webhooks,
    workers,
)

__all__ = [
    "audit",
    "bulk_operations",
    "calendars",
    "instances",
    "operations",
    "people",
    "retention",
    "schedules",
    "secrets",
    "templates",
    "tokens",
    "webhooks",
    "workers",
]
