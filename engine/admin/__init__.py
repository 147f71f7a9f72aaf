"""The admin's pages: authoring, operating, people. Importing this registers them."""

from engine.admin import audit, clocks, operations, people, setting_up, templates, tokens

__all__ = ["audit", "clocks", "operations", "people", "setting_up", "templates", "tokens"]
