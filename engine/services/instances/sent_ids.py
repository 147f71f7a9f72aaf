"""Remember the ids that senders give their signals and events, each with a digest of what was sent.

An id belongs to its sender and to the name that it was sent under (for a keyed signal also to the key): two programs that
count from 1 do not meet. The same id with the same content gets the first answer; with other content it is refused, because
one of the two would be lost without a word. Rows of releases that kept no digest are compared by their payload.
"""

import json
from typing import Any

from django.db.models import QuerySet

from engine.audit.chain import database_now
from engine.errors import IdReused
from engine.models import Event
from workflowplatform.accounts.actor import Actor


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True)


def refuse_other_content(kept: str | None, content: str) -> None:
    """Refuse an id that came before with other content; None says that no digest was kept then."""
    if kept not in (None, content):
        raise IdReused


def earlier_answer(
    actor: Actor, kind: str, name: str, external_id: str, *, key: str | None = None, payload: Any, content: str
) -> dict[str, Any] | None:
    """Return the answer that this sender got for this id, or None if it is new. Call behind a lock that its twins take too."""
    found = _sent(actor, kind, name, key).filter(external_id=external_id).first()
    if found is None:
        return None
    if found.content is None and _text(found.payload) != _text(payload):
        raise IdReused
    refuse_other_content(found.content, content)
    return dict(found.answer)


def _sent(actor: Actor, kind: str, name: str, key: str | None) -> QuerySet[Event]:
    """Return what this sender sent under this name; a key is an address for signals and mere content for events."""
    own = Event.objects.filter(tenant_id=actor.tenant_id, kind=kind, actor_name=actor.name, name=name)
    return own.filter(key=key) if kind == "signal" else own


def remember(
    actor: Actor,
    kind: str,
    name: str,
    external_id: str,
    *,
    key: str | None,
    payload: Any,
    content: str,
    answer: dict[str, Any],
) -> None:
    """Keep the answer for repetitions of this id."""
    Event.objects.create(
        tenant_id=actor.tenant_id,
        kind=kind,
        name=name,
        external_id=external_id,
        key=key,
        payload=payload,
        content=content,
        answer=answer,
        actor_name=actor.name,
        at=database_now(),
    )
