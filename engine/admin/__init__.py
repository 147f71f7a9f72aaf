"""The admin pages for authoring and operations; importing this package registers them.

The pages of tenants, people, roles and tokens are in workflowplatform.accounts.admin.
"""

from engine.admin import (
    audit,
    bulk_operations,
    calendars,
    instances,
    notifications,
    operations,
    retention,
    schedules,
    secrets,
    templates,
    webhooks,
    workers,
)

__all__ = [
    "audit",
    "bulk_operations",
    "calendars",
    "instances",
    "notifications",
    "operations",
    "retention",
    "schedules",
    "secrets",
    "templates",
    "webhooks",
    "workers",
]
