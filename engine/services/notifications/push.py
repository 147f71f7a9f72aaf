"""Browsers that take push messages: a person subscribes each by itself."""

import hashlib
from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import UUID

from django.utils.translation import gettext as _

from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import PushSubscription
from engine.transports.web_push import BadSubscription, Target, read_target
from workflowplatform.accounts.actor import Actor
from workflowplatform.database.tenancy import acting_for, crossing

MOST_BROWSERS = 10
LONGEST_ENDPOINT = 2000


def subscribe(*, actor: Actor, endpoint: str, public_key: str, auth: str, browser: str = "") -> PushSubscription:
    """Push to a browser of the actor from now on; the same browser again changes nothing.

    A browser tells one person: the last one who switched it on.
    """
    with acting_for(actor.home_tenant_id):
        return _subscribe(actor, endpoint, public_key, auth, browser)


@in_one_transaction
def _subscribe(actor: Actor, endpoint: str, public_key: str, auth: str, browser: str) -> PushSubscription:
    _check(Target(endpoint, public_key, auth))
    assert actor.person_id is not None
    _take_over(actor.person_id, endpoint)
    own = PushSubscription.objects.filter(person_id=actor.person_id)
    keys = {"public_key": public_key, "auth": auth, "browser": browser[:100], "created_at": database_now()}
    subscription, _made = own.update_or_create(
        tenant_id=actor.home_tenant_id, person_id=actor.person_id, endpoint=endpoint, defaults=keys
    )
    old = list(own.order_by("-created_at").values_list("pk", flat=True)[MOST_BROWSERS:])
    own.filter(pk__in=old).delete()
    return subscription


@crossing("push browser")
def _take_over(person_id: UUID, endpoint: str) -> None:
    PushSubscription.objects.filter(endpoint=endpoint).exclude(person_id=person_id).delete()


def endpoint_mark(endpoint: str) -> str:
    """Return a mark by which a page recognises its own browser: the address itself is nobody's to read."""
    return hashlib.sha256(endpoint.encode()).hexdigest()


def _check(target: Target) -> None:
    parts = urlsplit(target.endpoint) if len(target.endpoint) <= LONGEST_ENDPOINT else None
    try:
        read_target(target)
    except BadSubscription:
        parts = None
    if parts is None or parts.scheme not in ("https", "http") or not parts.hostname:
        message = _("This browser did not say where push messages go. Try again.")
        raise Invalid(message, [FieldError("endpoint", "invalid", message)])


def unsubscribe(*, actor: Actor, endpoint: str) -> int:
    """Push to a browser of the actor no more; return how many were ended."""
    with acting_for(actor.home_tenant_id):
        return _unsubscribe(actor, endpoint)


@in_one_transaction
def _unsubscribe(actor: Actor, endpoint: str) -> int:
    assert actor.person_id is not None
    return PushSubscription.objects.filter(person_id=actor.person_id, endpoint=endpoint).delete()[0]


def browsers_of(person_id: UUID) -> Sequence[PushSubscription]:
    """Return the browsers of a person that take push messages, the oldest first."""
    return list(PushSubscription.objects.filter(person_id=person_id))


def forget_browser(subscription: PushSubscription) -> None:
    """Forget a browser that takes no messages any more."""
    PushSubscription.objects.filter(pk=subscription.pk).delete()
