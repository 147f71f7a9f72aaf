"""One search over tasks, cases, comments and people, as far as the actor sees them.

Each group looks through the rows that an index gives first: the most urgent open tasks, the latest cases. So a search costs the
same among millions of rows as among a few, and what is found is what `engine/access` lets the actor see.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any
from uuid import UUID

from django.db.models import Q, TextField, Value
from django.db.models.functions import Cast, Replace
from django.db.models.lookups import IContains

from engine import access
from engine.access.task_filters import search
from engine.kernel.transitions import InstanceStatus
from engine.models import Instance, Task, TaskComment
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.models import User

MOST_FOUND = 12
MOST_TASKS, MOST_CASES, MOST_DONE = 2_000, 400, 400
"""How many rows of an index are looked through: open tasks, cases of each status, tasks that the actor did."""
LONGEST, MOST_WORDS = 200, 8
KINDS = ("tasks", "cases", "comments", "people")
MARKS: Mapping[str, tuple[str, ...]] = {"#": ("cases",), "@": ("people",)}
"""What a first character narrows the search to."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of each kind, at most one more than is shown."""

    words: tuple[str, ...] = ()
    tasks: Sequence[Task] = ()
    cases: Sequence[Instance] = ()
    comments: Sequence[TaskComment] = ()
    people: Sequence[User] = ()
    full: frozenset[str] = frozenset()
    """Of which windows there is more than was looked through: tasks, cases."""

    def __len__(self) -> int:
        return sum(len(getattr(self, kind)) for kind in KINDS)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows that a search looks through, and whether it ends where there may be more."""

    ids: Sequence[UUID] = ()
    is_full: bool = False


def search_everything(*, actor: Actor, text: str, kinds: Sequence[str] = KINDS) -> Found:
    """Find tasks, cases, comments and people by words; each word must be there."""
    text = text.replace("\0", "").strip()[:LONGEST]
    if text[:1] in MARKS:
        kinds, text = MARKS[text[0]], text[1:]
    words = tuple(text.split()[:MOST_WORDS])
    if not words:
        return Found()
    tasks = _task_window(actor) if {"tasks", "comments"} & set(kinds) else Window()
    cases = _case_window(actor) if {"cases", "comments"} & set(kinds) else Window()
    look: Mapping[str, Callable[[], Sequence[Any]]] = {
        "tasks": lambda: _tasks(actor, words, tasks.ids),
        "cases": lambda: _cases(actor, words, cases.ids),
        "comments": lambda: _comments(actor, words, tasks.ids, cases.ids),
        "people": lambda: _people(actor, words),
    }
    full = frozenset(name for name, window in (("tasks", tasks), ("cases", cases)) if window.is_full)
    return Found(words, full=full, **{kind: look[kind]() for kind in KINDS if kind in kinds})


def _task_window(actor: Actor) -> Window:
    """List the tasks to look through: those at hand first, then those that the actor did."""
    done = list(access.tasks_done(actor).values_list("pk", flat=True)[:MOST_DONE])
    if actor.level >= TO_SEE_TENANT:
        team = list(access.tasks_team(actor).values_list("pk", flat=True)[:MOST_TASKS])
        return Window([*team, *done], len(team) == MOST_TASKS or len(done) == MOST_DONE)
    mine = list(access.tasks_mine(actor).values_list("pk", flat=True)[:MOST_DONE])
    ((met,),) = access.walk_available(actor).met(MOST_TASKS)
    is_full = len(met or ()) == MOST_TASKS or MOST_DONE in (len(mine), len(done))
    return Window([*mine, *(met or ()), *done], is_full)


def _case_window(actor: Actor) -> Window:
    """List the cases to look through: the latest of each status, below level 4 those the actor started."""
    seen = access.visible_instances(actor).select_related(None).order_by("-id").values_list("pk", "status")
    if actor.level < TO_SEE_TENANT:
        most = MOST_CASES * len(InstanceStatus)
        own = [pk for pk, _status in seen[:most]]
        return Window(own, len(own) == most)
    first, *others = (seen.filter(status=status)[:MOST_CASES] for status in InstanceStatus)
    rows = list(first.union(*others, all=True))
    return Window([pk for pk, _status in rows], MOST_CASES in Counter(status for _pk, status in rows).values())


def _tasks(actor: Actor, words: Sequence[str], window: Sequence[UUID]) -> list[Task]:
    rows = access.visible_tasks(actor).filter(pk__in=window)
    rows = rows.annotate(amounts=Replace(Cast("columns", TextField()), Value(","), Value(""), output_field=TextField()))
    found = rows.filter(search(" ".join(words)) | _each(words, lambda word: Q(amounts__icontains=word)))
    return list(found.defer("form", "payload", "answer", "version__source", "version__canonical")[: MOST_FOUND + 1])


def _cases(actor: Actor, words: Sequence[str], window: Sequence[UUID]) -> list[Instance]:
    said = Cast("input", TextField())

    def has(word: str) -> Q:
        about = Q(title__icontains=word) | Q(reference__icontains=word) | Q(template__title__icontains=word)
        return about | Q(IContains(said, word))

    rows = access.visible_instances(actor).filter(_each(words, has), pk__in=window)
    return list(rows.defer("state", "version__source", "version__canonical").order_by("-id")[: MOST_FOUND + 1])


def _comments(actor: Actor, words: Sequence[str], tasks: Sequence[UUID], cases: Sequence[UUID]) -> list[TaskComment]:
    """Search the comments on the given cases and tasks that the actor sees."""
    about = Q(instance_id__in=cases, task__isnull=True) | Q(task_id__in=tasks)
    if actor.level >= TO_SEE_TENANT:
        about |= Q(instance_id__in=cases)
    comments = TaskComment.objects.filter(about, tenant_id=actor.tenant_id).select_related("instance__template")
    found = comments.filter(_each(words, lambda word: Q(text__icontains=word))).order_by("-id")
    return list(found.defer("instance__input", "instance__state")[: MOST_FOUND + 1])


def _people(actor: Actor, words: Sequence[str]) -> list[User]:
    """Find colleagues by name; oneself is no answer."""
    named = _each(words, lambda word: Q(username__icontains=word) | Q(full_name__icontains=word))
    people = access.visible_people(actor).filter(named, is_active=True).exclude(username=actor.name)
    return list(people.order_by("username")[: MOST_FOUND + 1])


def _each(words: Sequence[str], has: Callable[[str], Q]) -> Q:
    return reduce(and_, (has(word) for word in words))
