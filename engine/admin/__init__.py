"""The admin's pages: authoring, operating, people. Importing this registers them."""

from engine.admin import audit, bulk_acts, clocks, operations, people, setting_up, templates, tokens

__all__ = ["audit", "bulk_acts", "clocks", "operations", "people", "setting_up", "templates", "tokens"]
