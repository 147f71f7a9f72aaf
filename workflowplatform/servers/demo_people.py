"""Name the demo people for the person who just started the product."""

from __future__ import annotations

# name, tenant, level, what the level is called
PEOPLE = (
    ("gwen", "acme", 5, "god"),
    ("ada", "acme", 4, "admin"),
    ("adam", "acme", 4, "admin"),
    ("mira", "acme", 4, "admin"),
    ("jonas", "acme", 4, "admin"),
    ("uri", "acme", 2, "user"),
    ("sam", "globex", 5, "god"),
    ("stan", "globex", 4, "admin"),
    ("zoe", "platform", 6, "supergod"),
)


def people_table() -> list[str]:
    """Write one line per person: name, password, tenant, level."""
    head = f"  {'person':8}{'password':12}{'tenant':9}level"
    return [head, *(f"  {name:8}{f'demo-{name}':12}{tenant:9}{level} {title}" for name, tenant, level, title in PEOPLE)]
