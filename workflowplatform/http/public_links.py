"""Write the addresses that leave the product in mails."""

from django.conf import settings
from django.http import HttpRequest


def public_address(path: str) -> str:
    """Return where people find a page; only its path where the operator did not say where the product is."""
    return f"{settings.WORKFLOW_PUBLIC_URL}{path}"


def origin_for(request: HttpRequest) -> str:
    """Return where the product is: as the operator says, else as this request reached it."""
    return settings.WORKFLOW_PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")
