"""Put the actor on the request, in the tenant that the person works in."""

import zoneinfo
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone, translation
from django.utils.functional import SimpleLazyObject

from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Tenant, User
from workflowplatform.database import tenancy

TRANSLATED = ("/inbox/", "/accounts/")
"""The pages that speak the person's language."""
CHOSEN_TENANT = "chosen_tenant"
"""The session key under which a level-6 person's chosen tenant is kept."""


def actor_of_request(request: HttpRequest) -> Actor | None:
    """Return the acting user, or None for a visitor."""
    user = request.user
    if not isinstance(user, User):
        return None
    chosen = request.session.get(CHOSEN_TENANT) if hasattr(request, "session") else None
    with tenancy.crossing("who asks"):
        return actor_in(actor_of(user), chosen)


def actor_in(actor: Actor, chosen: Any) -> Actor:
    """Return the actor in the tenant that their session chose, where they may."""
    if chosen and actor.level >= 6:
        tenant = Tenant.objects.filter(pk=chosen).first()
        return actor.within(tenant) if tenant else actor
    return actor


def _actor_on(request: HttpRequest) -> Actor | None:
    """Return the actor that the request carries, read once for everybody who asks."""
    actor = request.actor  # type: ignore[attr-defined]
    return actor if bool(actor) else None


def scope_of(actor: Actor | None) -> tenancy.VisibleTenants:
    """Return whose rows an actor's statements see: those of the tenant in which they work."""
    if actor is None:
        return tenancy.NOBODY
    return tenancy.VisibleTenants(actor.tenant_id, guest=actor.person_id if actor.crosses else None)


def language_of(request: HttpRequest) -> str:
    """Return the language of an answer: the person's, else the browser's wish; machines and authors read English."""
    if not request.path.startswith(TRANSLATED):
        return settings.LANGUAGE_CODE
    chosen = getattr(request.user, "language", "")
    return chosen if chosen in dict(settings.LANGUAGES) else translation.get_language() or settings.LANGUAGE_CODE


class ActorMiddleware:
    """Set `request.actor` lazily, the tenant whose rows are seen, the person's time zone and their language."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.actor = SimpleLazyObject(lambda: actor_of_request(request))  # type: ignore[attr-defined]
        with tenancy.answering(lambda: scope_of(_actor_on(request))):
            return self._answer(request)

    def _answer(self, request: HttpRequest) -> HttpResponse:
        with tenancy.crossing("who asks"):
            zone = self._zone(request)
        with timezone.override(zone), translation.override(language_of(request)):
            response = self.get_response(request)
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = tenancy.kept(response.streaming_content)
        return response

    def _zone(self, request: HttpRequest) -> zoneinfo.ZoneInfo | None:
        try:
            return zoneinfo.ZoneInfo(getattr(request.user, "time_zone", "UTC"))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            return None
