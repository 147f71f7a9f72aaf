"""What a listener may receive: audit entries as small events, and whether the listener is still the one who came in.

An event says that something happened and to what; it never carries what was written. From level 4 on one hears of everything
that `audit/` would show; below that of the instances one started, and of tasks that are one's own to do, or were until they
ended. engine.access decides, at the moment of telling.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from engine import access
from engine.audit.chain import moment
from engine.audit.cursor import Position, Stretch, position_of, read_on
from engine.models import Audit, Task
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.middleware import CHOSEN_TENANT, actor_in
from workflowplatform.accounts.models import Token, User

INSTANCE = "instance"
TASK_ACT = "task_"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One act, as small as it can be told."""

    position: Position
    at: str
    action: str
    subject_kind: str
    subject: UUID
    task: UUID | None
    step: str | None
    iteration: str | None
    actor: str
    assignee: str | None

    @property
    def instance(self) -> UUID | None:
        return self.subject if self.subject_kind == INSTANCE else None

    def as_json(self) -> dict[str, Any]:
        """Write it for the wire."""
        told = {
            "id": str(self.position),
            "at": self.at,
            "action": self.action,
            "subject_kind": self.subject_kind,
            "subject": str(self.subject),
            "instance": str(self.instance) if self.instance else None,
            "task": str(self.task) if self.task else None,
            "step": self.step,
            "iteration": self.iteration,
            "actor": self.actor,
        }
        return told | ({"assignee": self.assignee} if self.action.startswith(TASK_ACT) else {})


def read_events(tenant_id: UUID, after: Position, here: Position, most: int) -> tuple[list[StreamEvent], Stretch]:
    """Read the acts of a tenant that follow a position, as events."""
    stretch = read_on(Audit.objects.filter(tenant_id=tenant_id), after, most=most, below=here)
    tasks = _tasks_meant(stretch.rows)
    return [_event(row, tasks) for row in stretch.rows], stretch


def _event(row: Audit, tasks: Mapping[tuple[UUID, int], UUID]) -> StreamEvent:
    told = row.new if isinstance(row.new, dict) else {}
    return StreamEvent(
        position=position_of(row),
        at=moment(row.at).replace("+00:00", "Z"),
        action=row.action,
        subject_kind=row.subject_kind,
        subject=row.subject_id,
        task=tasks.get((row.subject_id, _token(row) or 0)),
        step=row.step,
        iteration=row.iteration,
        actor=row.actor_name,
        assignee=told.get("assignee") if row.action.startswith(TASK_ACT) else None,
    )


def _token(row: Audit) -> int | None:
    """Return the token of the task that an act speaks of."""
    if not row.action.startswith(TASK_ACT) or not isinstance(row.new, dict):
        return None
    token = row.new.get("token")
    return token if isinstance(token, int) else None


def _tasks_meant(rows: Iterable[Audit]) -> dict[tuple[UUID, int], UUID]:
    meant = {(row.subject_id, token) for row in rows if (token := _token(row)) is not None}
    if not meant:
        return {}
    instances, tokens = zip(*meant, strict=True)
    found = Task.objects.filter(instance_id__in=set(instances), token__in=set(tokens))
    return {(instance_id, token): pk for pk, instance_id, token in found.values_list("pk", "instance_id", "token")}


def heard_by(actor: Actor, events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
    """Keep what the actor may hear of the events of their tenant."""
    if actor.level >= TO_SEE_TENANT or not events:
        return events
    instances = {event.instance for event in events if event.instance}
    tasks = {event.task for event in events if event.task}
    seen = set(access.visible_instances(actor).filter(pk__in=instances).order_by().values_list("pk", flat=True))
    heard = set(access.tasks_heard(actor).filter(pk__in=tasks).order_by().values_list("pk", flat=True))
    return [event for event in events if event.instance in seen or (event.task and event.task in heard)]


@dataclass(frozen=True, slots=True)
class Pass:
    """How a listener was let in: by a token, or a session."""

    token: str | None = None
    session: str | None = None


def who_holds(passes: Collection[tuple[Pass, UUID]]) -> dict[Pass, Actor]:
    """Return the person and level that each pass stands for now; one that is missing admits nobody any more."""
    people = {person.pk: person for person in User.objects.filter(pk__in={pk for _, pk in passes}, is_active=True)}
    actors = {pk: actor_of(person) for pk, person in people.items()}
    tokens = _tokens({given.token for given, _ in passes if given.token})
    sessions = _sessions({given.session for given, _ in passes if given.session})
    holders: dict[Pass, Actor] = {}
    for given, pk in passes:
        if pk in actors and given.token in tokens:
            holders[given] = actors[pk]
        elif pk in actors and given.session and given.session in sessions:
            actor = _actor_of_session(actors[pk], people[pk], sessions[given.session])
            holders |= {given: actor} if actor else {}
    return holders


def _tokens(digests: set[str]) -> set[str]:
    if not digests:
        return set()
    alive = Token.objects.filter(digest__in=digests).exclude(expiry__lte=timezone.now())
    return set(alive.values_list("digest", flat=True))


def _sessions(keys: set[str]) -> dict[str, dict[str, Any]]:
    if not keys:
        return {}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    return {session.session_key: session.get_decoded() for session in alive}


def _actor_of_session(actor: Actor, person: User, kept: Mapping[str, Any]) -> Actor | None:
    """Return who a session is, if it was not ended by a new password or from outside, in the tenant that it chose."""
    if not constant_time_compare(str(kept.get(HASH_SESSION_KEY, "")), person.get_session_auth_hash()):
        return None
    return actor_in(actor, kept.get(CHOSEN_TENANT))
