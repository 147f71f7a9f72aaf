"""Tell about wrong settings before anything runs, each with a hint."""

from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Doubt

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
        "WORKFLOW_LATE_SECONDS",
        "WORKFLOW_HOSTS",
        "WORKFLOW_POOL_PATIENCE",
        "WORKFLOW_SLICE_STEPS",
        "WORKFLOW_SLICE_SECONDS",
        "WORKFLOW_TRANSACTION_BIRTHS",
        "WORKFLOW_TRANSACTION_STEPS",
        "WORKFLOW_TRANSACTION_SECONDS",
        "WORKFLOW_MOST_DESCENDANTS",
        "WORKFLOW_LONGEST_CHAIN",
        "WORKFLOW_LARGEST_UPLOAD",
        "WORKFLOW_AUDIT_ROOT_HOURS",
        "WORKFLOW_WEBHOOK_FAILURES",
        "WORKFLOW_WEBHOOK_KEEP_DAYS",
    )
    return [
        Error(f"{name} is {getattr(settings, name)}.", hint="Use a number above zero.", id="workflow.E002")
        for name in names
        if getattr(settings, name) <= 0
    ]


@register(deploy=True)
def check_redis(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a Redis on another host to which anybody may speak, or whose password anybody may read on the way."""
    address = urlsplit(settings.REDIS_URL)
    if address.scheme == "unix" or _is_here(address.hostname or ""):
        return []
    lacking = [
        word for word, there in (("a password", address.password), ("TLS", address.scheme == "rediss")) if not there
    ]
    hint = "Use rediss://:PASSWORD@HOST/0, and let only this platform's hosts reach it."
    return [Error(f"REDIS_URL names another host without {lack}.", hint=hint, id="workflow.E010") for lack in lacking]


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@register(deploy=True)
def check_mails(**kwargs: Any) -> list[CheckMessage]:
    """Warn where mails are sent that cannot say where to go."""
    if settings.WORKFLOW_PUBLIC_URL or not settings.EMAIL_URL_HOST:
        return []
    return [
        Doubt(
            "EMAIL_HOST is set and WORKFLOW_PUBLIC_URL is not: mails about tasks have no address to click.",
            hint="Set WORKFLOW_PUBLIC_URL to where people reach the product, such as https://workflow.example.com.",
            id="workflow.W001",
        )
    ]


@register(deploy=True)
def check_audit_signing_key(**kwargs: Any) -> list[CheckMessage]:
    """Warn where hosts would sign roots and exports of the audit with keys of their own."""
    own = Path(settings.WORKFLOW_AUDIT_SIGNING_KEY).parent == Path(settings.DATA_DIR)
    if settings.WORKFLOW_HOSTS <= 1 or not own:
        return []
    return [
        Doubt(
            f"The product runs on {settings.WORKFLOW_HOSTS} hosts, and each makes a key of its own to sign the audit.",
            hint="Give all hosts the same key file and name it with WORKFLOW_AUDIT_SIGNING_KEY.",
            id="workflow.W013",
        )
    ]


@register(deploy=True)
def check_shared_files(**kwargs: Any) -> list[CheckMessage]:
    """Warn where a file added on one host cannot be fetched on another."""
    if settings.WORKFLOW_HOSTS <= 1 or settings.WORKFLOW_SHARED_FILES:
        return []
    return [
        Doubt(
            f"The product runs on {settings.WORKFLOW_HOSTS} hosts, and files of tasks are kept on the host that took them.",
            hint="Let all hosts share the folder attachments/ in WORKFLOW_DATA, then set WORKFLOW_SHARED_FILES=1.",
            id="workflow.W002",
        )
    ]
