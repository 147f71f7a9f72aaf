"""Read what a list is asked for. A filter that does not exist is refused rather than ignored."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn
from uuid import UUID

from django.db.models import Q, QuerySet
from rest_framework.request import Request

from engine.api.paging import moment, word
from engine.errors import Invalid
from engine.kernel.effects import PRIORITIES, WaitKind
from engine.kernel.forms import FieldError
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models.schedule import STATUSES
from engine.models.webhook import DELIVERY_STATUSES
from engine.models.webhook import STATUSES as WEBHOOK_STATUSES
from engine.services.finding import state_holds, waits_for

PAGING = frozenset({"cursor", "limit"})
STATE = "state."

Filter = Callable[[str], Any]


def _words(words: Iterable[str]) -> Filter:
    known = set(map(str, words))

    def read(text: str) -> list[str]:
        asked = text.split(",")
        if not known.issuperset(asked):
            raise ValueError(f"Use {', '.join(sorted(known))}.")
        return asked

    return read


INSTANCES: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "template": (word, lambda name: Q(template__name=name)),
    "status": (_words(InstanceStatus), lambda names: Q(status__in=names)),
    "outcome": (word, lambda name: Q(outcome=name)),
    "reference": (word, lambda text: Q(reference=text)),
    "started_after": (moment, lambda at: Q(started_at__gt=at)),
    "waiting_kind": (_words(WaitKind), waits_for),
}

TASKS: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "instance": (UUID, lambda wanted: Q(instance_id=wanted)),
    "template": (word, lambda name: Q(version__template__name=name)),
    "reference": (word, lambda text: Q(business_reference=text)),
    "step": (word, lambda name: Q(step=name)),
    "status": (_words(TaskStatus), lambda names: Q(status__in=names)),
    "role": (word, lambda name: Q(effective_roles__contains=[name])),
    "assignee": (word, lambda name: Q(assignee__username=name)),
    "priority": (_words(PRIORITIES), lambda names: Q(priority__in=[PRIORITIES.index(name) for name in names])),
    "due_before": (moment, lambda at: Q(due_at__lt=at)),
    "due_after": (moment, lambda at: Q(due_at__gt=at)),
    "search": (word, lambda text: Q(title__icontains=text) | Q(business_reference__icontains=text)),
}


SCHEDULES: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "template": (word, lambda name: Q(template__name=name)),
    "status": (_words(STATUSES), lambda names: Q(status__in=names)),
}

DEAD_LETTERS: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "instance": (UUID, lambda wanted: Q(instance_id=wanted)),
    "template": (word, lambda name: Q(instance__template__name=name)),
}

WEBHOOKS: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "status": (_words(WEBHOOK_STATUSES), lambda names: Q(status__in=names)),
}

DELIVERIES: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "webhook": (UUID, lambda wanted: Q(webhook_id=wanted)),
    "instance": (UUID, lambda wanted: Q(instance_id=wanted)),
    "event": (word, lambda name: Q(event=name)),
    "status": (_words(DELIVERY_STATUSES), lambda names: Q(status__in=names)),
}

AUDIT: Mapping[str, tuple[Filter, Callable[[Any], Any]]] = {
    "subject": (UUID, lambda wanted: Q(subject_id=wanted)),
    "actor": (word, lambda name: Q(actor_name=name)),
    "action": (word, lambda name: Q(action=name)),
    "since": (moment, lambda at: Q(at__gt=at)),
}


def narrowed(
    request: Request, rows: QuerySet[Any], known: Mapping[str, tuple[Filter, Callable[[Any], Any]]], *others: str
) -> QuerySet[Any]:
    """Apply the filters of the address."""
    for name, text in request.query_params.items():
        if name in known:
            read, condition = known[name]
            rows = rows.filter(condition(_read(name, str(text), read)))
        elif name.startswith(STATE) and STATE in others:
            rows = rows.filter(_in_state(name, str(text)))
        elif name not in PAGING and name not in others:
            _refuse(name, "unknown", f"There is no filter {name} here.")
    return rows


def _in_state(name: str, text: str) -> Q:
    """Match business state by a dotted path."""
    return state_holds(_read(STATE, name, word).split(".")[1:], _read(name, text, word))


def _read(name: str, text: str, read: Filter) -> Any:
    try:
        return read(text)
    except ValueError as error:
        _refuse(name, "invalid", str(error) if str(error).startswith("Use ") else f"{name} cannot be read.")


def _refuse(name: str, code: str, message: str) -> NoReturn:
    raise Invalid(message, [FieldError(name, code, message)])
