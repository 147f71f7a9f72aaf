"""What can be asked of a list of tasks, in the inbox as over REST: each filter reads its text and says which rows fit."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import DecimalField, Func, Q, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Now, Replace
from django.db.models.lookups import GreaterThanOrEqual, IContains, LessThanOrEqual
from django.utils import timezone

from engine.db.keyset_pagination import moment, word
from engine.db.query_shapes import Among, Each, Given
from engine.kernel.effects import PRIORITIES
from engine.kernel.transitions import TaskStatus
from workflowplatform.accounts.models import User

MOST_WORDS = 8
COLUMN = "column."
COLUMN_NAME = re.compile(r"column\.(?P<key>[^.\0]{1,100})(?:\.(?P<bound>min|max))?")
FIRST_NUMBER = r"-?\d+(?:\.\d+)?"

Filter = Callable[[str], Any]


def read_words(words: Iterable[str]) -> Filter:
    """Read one or more of some words, separated by commas."""
    known = set(map(str, words))

    def read(text: str) -> list[str]:
        asked = text.split(",")
        if not known.issuperset(asked):
            raise ValueError(f"Use {', '.join(sorted(known))}.")
        return asked

    return read


def _names(text: str) -> Each:
    return Each(word(text).split(","))


def _has_role(names: Iterable[str]) -> Q:
    return Q(*(Q(effective_roles__contains=[name]) for name in names), _connector=Q.OR)


def _words(text: str) -> Each:
    return Each(word(text).split()[:MOST_WORDS])


def search(words: Iterable[str]) -> Q:
    """Return the condition for tasks that have every word in title, reference, workflow or a declared column."""
    found = Q()
    for one in words:
        found &= (
            Q(title__icontains=one)
            | Q(business_reference__icontains=one)
            | Q(version__template__title__icontains=one)
            | Q(columns__icontains=one)
        )
    return found


# Due dates, by the calendar of the person who asks


def _midnight() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def _month() -> Q:
    first = (_midnight().replace(day=1) + timedelta(days=32)).replace(day=1)
    return Q(due_at__lt=first)


DUES: Mapping[str, Callable[[], Q]] = {
    "late": lambda: Q(due_at__lt=Now()),
    "today": lambda: Q(due_at__lt=_midnight() + timedelta(days=1)),
    "week": lambda: Q(due_at__lt=Now() + timedelta(days=7)),
    "month": _month,
    "none": lambda: Q(due_at__isnull=True),
}


def _due(names: list[str]) -> Q:
    return Q(*(DUES[name]() for name in names), _connector=Q.OR)


AGES: Mapping[str, timedelta] = {
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
    "quarter": timedelta(days=90),
}
"""For how long a task has been open at least."""


def _people_called(text: str) -> ArraySubquery:
    """Return the people with a text in their names, as an array that is read once: indexes of tasks are looked up by it."""
    called = Q(username__icontains=text) | Q(full_name__icontains=text)
    return ArraySubquery(User.objects.filter(called).values("pk"))


def _held_by(text: str) -> Q:
    return Q(Among("assignee_id", _people_called(text)))


def _started_by(text: str) -> Q:
    return Q(Among("instance__started_by_id", _people_called(text)))


def _open_for(names: list[str]) -> Q:
    """Match tasks that are as old; the moment is the database's, so that the statement is the same for every reader."""
    return Q(created_at__lt=Now() - min(AGES[name] for name in names))


FILTERS: Mapping[str, tuple[Filter, Callable[[Any], Q]]] = {
    "instance": (UUID, lambda wanted: Q(instance_id=wanted)),
    "template": (word, lambda name: Q(version__template__name=name)),
    "reference": (word, lambda text: Q(business_reference=text)),
    "reference_prefix": (word, lambda text: Q(business_reference__istartswith=text)),
    "step": (word, lambda name: Q(step=name)),
    "type": (word, lambda name: Q(type=name)),
    "route": (word, lambda name: Q(route=name)),
    "status": (read_words(TaskStatus), lambda names: Q(status__in=names)),
    "role": (_names, _has_role),
    "assignee": (word, lambda name: Q(assignee__username=name)),
    "priority": (read_words(PRIORITIES), lambda names: Q(priority__in=[PRIORITIES.index(name) for name in names])),
    "due": (read_words(DUES), _due),
    "person": (word, _held_by),
    "starter": (word, _started_by),
    "age": (read_words(AGES), _open_for),
    "due_before": (moment, lambda at: Q(due_at__lt=at)),
    "due_after": (moment, lambda at: Q(due_at__gt=at)),
    "search": (_words, search),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter with its value: so that one query serves every value."""

    name: str
    value: Any
    condition: Callable[[Any], Any]

    def as_condition(self, given: Given) -> Any:
        """Return the condition for a value that was handed out."""
        given.form(self.name)
        return self.condition(given(self.value))


LATE = Asked("due", ["late"], _due)


def conditions_of(asked: Iterable[Any], given: Given) -> list[Any]:
    """Return the conditions of a list; one that is no filter is of no known shape."""
    found = []
    for one in asked:
        if isinstance(one, Asked):
            found.append(one.as_condition(given))
        else:
            given.doubt()
            found.append(one)
    return found


# The columns that authors declare


def column_condition(name: str, text: str) -> Q:
    """Return the condition of `column.KEY=words`, `column.KEY.min=number` or `column.KEY.max=number`; else ValueError."""
    asked = COLUMN_NAME.fullmatch(name)
    if asked is None:
        raise ValueError("Use column.NAME, column.NAME.min or column.NAME.max.")
    shown = KeyTextTransform(asked["key"], "columns")
    if asked["bound"] is None:
        return Q(IContains(shown, word(text)))
    compare = GreaterThanOrEqual if asked["bound"] == "min" else LessThanOrEqual
    return Q(compare(_number_in(shown), _number(text)))


def columns_declared(canonical: Any) -> list[str]:
    """List the columns of all tasks of a definition, each once, in the order written."""
    if isinstance(canonical, list):
        return list(dict.fromkeys(name for part in canonical for name in columns_declared(part)))
    if not isinstance(canonical, dict):
        return []
    task = canonical.get("task")
    own = list(task.get("columns") or ()) if isinstance(task, dict) else []
    return list(dict.fromkeys([*own, *columns_declared(list(canonical.values()))]))


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise ValueError("Enter a number.") from error
    if not number.is_finite() or abs(number) >= Decimal(10) ** 30:
        raise ValueError("Enter a number.")
    return number


def _number_in(shown: KeyTextTransform) -> Cast:
    """Take the first number out of what people read, such as €1,264.50 or 3 days."""
    plain = Replace(shown, Value(","), Value(""))
    found = Func(plain, Value(FIRST_NUMBER), function="SUBSTRING", output_field=TextField())
    return Cast(found, DecimalField(max_digits=60, decimal_places=20))
