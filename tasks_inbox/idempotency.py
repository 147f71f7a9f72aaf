"""Start once, however often the same form is sent.

Each start form carries a number of its own. The first sending writes, in the transaction of the start itself, which
instance it became; a second sending of the same values finds that and starts nothing. Twins that come at the same
moment queue on an advisory lock. Other values in the same form (sent again after going back) are another start.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.db import connection

from engine.db.transactions import in_one_transaction
from engine.kernel.signals import Json
from engine.models import IdempotencyKey
from engine.services.instances.lifecycle import StartedInstance
from workflowplatform.accounts.actor import Actor

LONGEST_NUMBER = 64
FOUND = 303


@dataclass(frozen=True, slots=True)
class Begun:
    """What a sending led to: a new start, or the instance that the first sending became."""

    instance_id: UUID
    started: StartedInstance | None


def fresh_number() -> str:
    """Give a form its own number."""
    return uuid4().hex


@in_one_transaction
def begin_once(
    *, actor: Actor, template: str, number: str, values: Mapping[str, Json], begin: Callable[[], StartedInstance]
) -> Begun:
    """Begin, unless this very form with these very values has begun already."""
    if not number or len(number) > LONGEST_NUMBER:
        return _begun(begin())
    scope = {
        "tenant_id": actor.tenant_id,
        "actor_id": actor.person_id,
        "route": f"inbox/start/{template}",
        "key": f"{number}:{_digest(values)}",
    }
    _queue_on("|".join(map(str, scope.values())))
    kept = IdempotencyKey.objects.filter(**scope).first()
    if kept is not None:
        return Begun(UUID(kept.answer), None)
    begun = _begun(begin())
    IdempotencyKey.objects.create(**scope, body_sha256=_digest(values), status=FOUND, answer=str(begun.instance_id))
    return begun


def _begun(started: StartedInstance) -> Begun:
    return Begun(started.instance.pk, started)


def _queue_on(words: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [words])


def _digest(values: Mapping[str, Json]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
