"""Record that a person of level 6 works in another tenant today, before any page or answer shows them a row of it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from engine.services.tenants.cross_tenant_access import note_looks
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.middleware import CHOSEN_TENANT

LOOKED = "looked_on"
"""The session key that says for which tenant and day this is done, so that other requests ask nothing."""


class LookingMiddleware:
    """Act only on sessions that chose another tenant: a token acts in its person's own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        chosen = request.session.get(CHOSEN_TENANT) if request.session.session_key else None
        mark = f"{chosen} {timezone.now():%Y-%m-%d}"
        if chosen and request.session.get(LOOKED) != mark and request.user.is_authenticated:
            actor: Actor = request.actor  # type: ignore[attr-defined]
            note_looks(actor=actor, tenants=[actor.tenant_id], at=request.path)
            request.session[LOOKED] = mark
        return self.get_response(request)
