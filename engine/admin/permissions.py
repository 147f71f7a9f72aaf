"""Which level may see, add and change what in the admin: one table for all pages.

The services check again on every action; this table only keeps pages from offering what would be refused.
"""

from dataclasses import dataclass

from django.http import HttpRequest

from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import (
    TO_AUTHOR,
    TO_CROSS_TENANTS,
    TO_MANAGE_PEOPLE,
    TO_MANAGE_WEBHOOKS,
    TO_OPERATE,
    Level,
)

NOBODY = 7
"""Above every level."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The lowest level for each of the admin's four verbs."""

    view: int = Level.ADMIN
    add: int = NOBODY
    change: int = NOBODY
    delete: int = NOBODY


READ_ONLY = Rights(view=TO_OPERATE)

RIGHTS: dict[str, Rights] = {
    "accounts.tenant": Rights(view=TO_CROSS_TENANTS, add=TO_CROSS_TENANTS, change=TO_CROSS_TENANTS),
    "accounts.user": Rights(view=TO_OPERATE, add=TO_MANAGE_PEOPLE, change=TO_MANAGE_PEOPLE),
    "accounts.role": Rights(view=TO_OPERATE, add=TO_MANAGE_PEOPLE, change=TO_MANAGE_PEOPLE),
    "accounts.token": Rights(view=TO_OPERATE, add=TO_OPERATE),
    "engine.template": Rights(view=TO_OPERATE, add=TO_AUTHOR),
    "engine.templateversion": Rights(view=TO_OPERATE, add=TO_AUTHOR, change=TO_AUTHOR),
    "engine.instance": READ_ONLY,
    "engine.task": READ_ONLY,
    "engine.signal": READ_ONLY,
    "engine.deadletter": READ_ONLY,
    "engine.bulkact": READ_ONLY,
    "engine.audit": READ_ONLY,
    "engine.schedule": Rights(view=TO_OPERATE, add=TO_OPERATE),
    "engine.webhook": Rights(view=TO_OPERATE, add=TO_MANAGE_WEBHOOKS),
    "engine.webhookdelivery": READ_ONLY,
    "engine.notification": READ_ONLY,
    "engine.rolechat": Rights(view=TO_OPERATE, add=TO_MANAGE_WEBHOOKS, change=TO_MANAGE_WEBHOOKS),
    "engine.retentionrule": Rights(view=TO_OPERATE, add=TO_AUTHOR, change=TO_AUTHOR),
    "engine.secret": Rights(view=TO_AUTHOR, add=TO_AUTHOR, change=TO_AUTHOR),
    "engine.businesscalendar": Rights(view=TO_OPERATE, add=TO_AUTHOR, change=TO_AUTHOR),
}


def rights_to(label: str) -> Rights:
    """Return the rights to a model; a model without an entry is closed to everyone."""
    return RIGHTS.get(label, Rights(view=NOBODY))


def actor_of(request: HttpRequest) -> Actor:
    """Return the actor of a request; the admin site admits no request without one."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
