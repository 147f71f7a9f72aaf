"""Where a task stands in the list that one came from, and which stand before and after it."""

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from engine.models import Task
from tasks_inbox.decorators import InboxRequest
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import MOST_COUNTED, Words, count_words, list_named
from tasks_inbox.views.lists import UNSEEN, rows_of

CAME_FROM = "in"
"""The list's own address, carried along from task to task."""
LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A task's place in a list."""

    list: Words
    back: str
    """The address of the list."""
    place: int = 0
    """1 for the first; 0 where the task is not among the rows one can count."""
    count: str = ""
    before: str = ""
    after: str = ""


def neighbours_of(request: InboxRequest, task: Task, usual: str) -> Neighbours:
    """Find a task in the list one came from, else in the one where it usually stands."""
    query = came_from(request)
    address = QueryDict(query) if query else QueryDict(f"view={usual}")
    chosen = list_named(address.get("view", "mine"), request.actor)
    shown = rows_of(request.actor, chosen, Filter.read(chosen.name, address))
    count, page = shown.opening(MOST_COUNTED, without=UNSEEN)
    ids = [row.pk for row in page.rows]
    back = reverse("inbox:mine") + (f"?{query or f'view={usual}'}" if query or usual != "mine" else "")
    if task.pk not in ids:
        return Neighbours(chosen, back)
    at = ids.index(task.pk)
    return Neighbours(
        chosen,
        back,
        place=at + 1,
        count=count_words(count),
        before=_address(ids[at - 1], query, usual) if at else "",
        after=_address(ids[at + 1], query, usual) if at + 1 < len(ids) else "",
    )


def came_from(request: InboxRequest) -> str:
    """Read which list one came from: as the address says, else as the browser says."""
    if CAME_FROM in request.GET:
        return request.GET[CAME_FROM][:LONGEST]
    before = urlsplit(request.headers.get("Referer", ""))
    if before.netloc != request.get_host():
        return ""
    if before.path == reverse("inbox:mine"):
        return before.query[:LONGEST] or "view=mine"
    return QueryDict(before.query).get(CAME_FROM, "")[:LONGEST] if before.path.startswith(_tasks()) else ""


def _tasks() -> str:
    return reverse("inbox:mine") + "tasks/"


def _address(task_id: UUID, query: str, usual: str) -> str:
    return f"{reverse('inbox:task', args=[task_id])}?{urlencode({CAME_FROM: query or f'view={usual}'})}"
