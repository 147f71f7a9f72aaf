"""Everyday workflows, ready to be used or to be learned from: one YAML file each, named as the workflow in it."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

GALLERY = (
    "expense-approval",
    "purchase-approval",
    "travel-request",
    "payment-run",
    "invoice-dispute",
    "contract-renewal",
    "employee-onboarding",
    "offboarding",
    "leave-request",
    "document-request",
    "access-request",
    "equipment-repair",
    "incident-report",
    "content-review",
)
"""In the order in which they are worth showing."""


@cache
def gallery() -> Mapping[str, str]:
    """Return every workflow's source by its name."""
    folder = files(__name__)
    return {name: (folder / f"{name}.yaml").read_text(encoding="utf-8") for name in GALLERY}
