"""Tell about wrong settings before anything runs, each with a hint."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

DISPATCHERS = ("rq", "immediate")
STARTUP_VALIDATIONS = ("strict", "warn")


@register()
def check_dispatcher(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a dispatcher that does not exist."""
    if settings.WORKFLOW_DISPATCHER in DISPATCHERS:
        return []
    return [
        Error(
            f"WORKFLOW_DISPATCHER is {settings.WORKFLOW_DISPATCHER!r}.",
            hint=f"Use one of: {', '.join(DISPATCHERS)}.",
            id="workflow.E001",
        )
    ]


@register()
def check_startup_validation(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a way of validating at start-up that does not exist."""
    if settings.WORKFLOW_STARTUP_VALIDATION in STARTUP_VALIDATIONS:
        return []
    return [
        Error(
            f"WORKFLOW_STARTUP_VALIDATION is {settings.WORKFLOW_STARTUP_VALIDATION!r}.",
            hint=f"Use one of: {', '.join(STARTUP_VALIDATIONS)}.",
            id="workflow.E003",
        )
    ]


@register()
def check_bounds(**kwargs: Any) -> list[CheckMessage]:
    """Refuse bounds that could never let work pass."""
    names = (
        "WORKFLOW_POISON_ATTEMPTS",
        "WORKFLOW_DRAIN_BATCH",
        "WORKFLOW_WAKE_SECONDS",
        "WORKFLOW_SLICE_STEPS",
        "WORKFLOW_SLICE_SECONDS",
        "WORKFLOW_TRANSACTION_BIRTHS",
        "WORKFLOW_TRANSACTION_STEPS",
        "WORKFLOW_TRANSACTION_SECONDS",
        "WORKFLOW_MOST_DESCENDANTS",
        "WORKFLOW_LONGEST_CHAIN",
        "WORKFLOW_LARGEST_UPLOAD",
        "WORKFLOW_WEBHOOK_FAILURES",
        "WORKFLOW_WEBHOOK_KEEP_DAYS",
    )
    return [
        Error(f"{name} is {getattr(settings, name)}.", hint="Use a number above zero.", id="workflow.E002")
        for name in names
        if getattr(settings, name) <= 0
    ]
