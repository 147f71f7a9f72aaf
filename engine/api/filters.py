"""Read what a list is asked for. A filter that does not exist is refused rather than ignored."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn
from uuid import UUID

from django.db.models import Q, QuerySet
from rest_framework.request import Request

from engine.access.task_filters import COLUMN, Asked, Filter, column_condition, conditions_of, read_words
from engine.db.keyset_pagination import moment, word
from engine.db.query_shapes import PLAIN
from engine.errors import Invalid
from engine.kernel.effects import WaitKind
from engine.kernel.forms import FieldError
from engine.kernel.transitions import InstanceStatus
from engine.models.schedule import STATUSES
from engine.models.webhook import DELIVERY_STATUSES
from engine.models.webhook import STATUSES as WEBHOOK_STATUSES
from engine.services.instances.search import state_holds, waits_for

PAGING = frozenset({"cursor", "limit"})
STATE = "state."

INSTANCES: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "template": (word, lambda name: Q(template__name=name)),
    "status": (read_words(InstanceStatus), lambda names: Q(status__in=names)),
    "outcome": (word, lambda name: Q(outcome=name)),
    "reference": (word, lambda text: Q(reference=text)),
    "parent": (UUID, lambda wanted: Q(parent_id=wanted)),
    "started_after": (moment, lambda at: Q(started_at__gt=at)),
    "waiting_kind": (read_words(WaitKind), waits_for),
}

SCHEDULES: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "template": (word, lambda name: Q(template__name=name)),
    "status": (read_words(STATUSES), lambda names: Q(status__in=names)),
}

SUBSTITUTIONS: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "person": (word, lambda name: Q(person__username=name)),
    "deputy": (word, lambda name: Q(deputy__username=name)),
}

DEAD_LETTERS: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "instance": (UUID, lambda wanted: Q(instance_id=wanted)),
    "template": (word, lambda name: Q(instance__template__name=name)),
}

WEBHOOKS: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "status": (read_words(WEBHOOK_STATUSES), lambda names: Q(status__in=names)),
}

DELIVERIES: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "webhook": (UUID, lambda wanted: Q(webhook_id=wanted)),
    "instance": (UUID, lambda wanted: Q(instance_id=wanted)),
    "event": (word, lambda name: Q(event=name)),
    "status": (read_words(DELIVERY_STATUSES), lambda names: Q(status__in=names)),
}

AUDIT: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "subject": (UUID, lambda wanted: Q(subject_id=wanted)),
    "actor": (word, lambda name: Q(actor_name=name)),
    "action": (word, lambda name: Q(action=name)),
    "since": (moment, lambda at: Q(at__gt=at)),
}

READABLE: Mapping[Any, str] = {
    moment: "Enter a time with its time zone, such as 2030-01-07T09:00:00Z.",
    UUID: "Enter an id.",
}
"""What to write instead of something that cannot be read."""

Known = Mapping[str, tuple[Filter, Callable[[Any], Any]]]


def narrowed(request: Request, rows: QuerySet[Any], known: Known, *others: str) -> QuerySet[Any]:
    """Apply the filters of the address."""
    return rows.filter(*conditions_of(asked(request, known, *others), PLAIN))


def asked(request: Request, known: Known, *others: str) -> list[Asked | Q]:
    """Read the filters of the address; the view reads others by itself, unless they end with a dot: those begin a name."""
    said = [(name, str(text)) for name, text in request.query_params.items() if name not in PAGING]
    own = {name for name in others if not name.endswith(".")}
    return [_asked(name, text, known, others) for name, text in said if name not in own]


def _asked(name: str, text: str, known: Known, others: Sequence[str]) -> Asked | Q:
    if name in known:
        read, condition = known[name]
        return Asked(name, _read(name, text, read), condition)
    if name.startswith(COLUMN) and COLUMN in others:
        column: Q = _read(name, text, lambda text: column_condition(name, text))
        return column
    if not (name.startswith(STATE) and STATE in others):
        _refuse(name, "unknown", f"Unknown filter: {name}.")
    return _in_state(name, text)


def _in_state(name: str, text: str) -> Q:
    """Match business state by a dotted path."""
    path = _read(STATE, name, word).split(".")[1:]
    if not all(path):
        _refuse(name, "invalid", "Enter a path into the state, such as state.order.total.")
    return state_holds(path, _read(name, text, word))


def _read(name: str, text: str, read: Filter) -> Any:
    try:
        return read(text)
    except ValueError as error:
        told = str(error) if str(error).startswith("Use ") else READABLE.get(read, f"{name} is not valid.")
        _refuse(name, "invalid", told)


def _refuse(name: str, code: str, message: str) -> NoReturn:
    raise Invalid(message, [FieldError(name, code, message)])
