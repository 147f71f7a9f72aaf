"""Write the addresses that leave the product in mails."""

from django.http import HttpRequest

from workflowplatform.conf import conf


def public_address(path: str) -> str:
    """Return where people find a page; only its path where the operator did not say where the product is."""
    return f"{conf.public_url}{path}"


def origin_for(request: HttpRequest) -> str:
    """Return where the product is: as the operator says, else as this request reached it."""
    return conf.public_url or request.build_absolute_uri("/").rstrip("/")
