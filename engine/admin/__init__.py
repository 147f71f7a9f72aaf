"""The admin's pages: authoring, operating, people. Importing this registers them."""

from engine.admin import audit, operations, people, templates, tokens

__all__ = ["audit", "operations", "people", "templates", "tokens"]
