"""Everyday workflows, ready to be used or to be learned from: one YAML file each, named as the workflow in it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

GALLERY_FOLDER = Path(__file__).parent

GALLERY = (
    "expense-approval",
    "purchase-approval",
    "travel-request",
    "trip-expenses",
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
    "refund",
    "invoice-review",
    "invoice-receipt",
    "help-desk",
    "system-failure",
    "vacation-request",
    "vacation-with-rule",
    "job-advertisement",
    "document-wait",
    "approved-action",
    "approval-rules",
    "quorum-of-five",
    "board-resolution",
    "human-pipeline",
    "first-of-three",
)
"""In the order in which they are worth showing; what another starts comes before it."""


@cache
def gallery() -> Mapping[str, str]:
    """Return every workflow's source by its name."""
    return {name: (GALLERY_FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in GALLERY}
