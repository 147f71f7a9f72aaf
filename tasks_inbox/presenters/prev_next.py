"""Position of a task in the list the person came from, with the previous and the next task, also after an answer."""

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from engine.db.keyset_pagination import Cursor
from engine.models import Task
from engine.services.tasks.lists import MOST_COUNTED
from tasks_inbox.decorators import InboxRequest
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import UNSEEN, Words, count_words, list_named, rows_of
from workflowplatform.accounts.actor import Actor

CAME_FROM = "in"
"""The list's own address, carried along from task to task."""
TEAM = "load"
"""The view in such an address that is no list but the page of a team."""
LONGEST = 1000
MOST_SHOWN = 2
"""How many of the following tasks the page names."""
HEADING = "#title"


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
    query: str = ""
    """The list's own address as it was carried here; empty where the task was opened from elsewhere."""
    following: tuple[tuple[Task, str], ...] = ()
    """The next tasks with their addresses."""

    @property
    def carried(self) -> str:
        """Return what an act of this task's page adds to its address, so that the list stays known."""
        return f"?{urlencode({CAME_FROM: self.query})}" if self.query else ""


def neighbours_of(request: InboxRequest, task: Task, usual: str) -> Neighbours:
    """Find a task in the list the person came from, else in its usual list."""
    query = came_from(request)
    address = QueryDict(query) if query else QueryDict(f"view={usual}")
    chosen = list_named(address.get("view", "mine"), request.actor)
    shown = rows_of(request.actor, chosen, Filter.read(chosen.name, address))
    count, page = shown.opening(MOST_COUNTED, without=UNSEEN)
    ids = [row.pk for row in page.rows]
    back = list_address(query or f"view={usual}")
    if task.pk not in ids:
        return Neighbours(chosen, back, query=query)
    at = ids.index(task.pk)
    return Neighbours(
        chosen,
        back,
        place=at + 1,
        count=count_words(count),
        before=_address(ids[at - 1], query, usual) if at else "",
        after=_address(ids[at + 1], query, usual) if at + 1 < len(ids) else "",
        query=query,
        following=tuple((row, _address(row.pk, query, usual)) for row in page.rows[at + 1 : at + 1 + MOST_SHOWN]),
    )


def task_after(actor: Actor, task: Task, query: str) -> Task | None:
    """Find what follows a task in a list, also one that left it: its place is in what an answer does not change."""
    address = QueryDict(query)
    chosen = list_named(address.get("view", "mine"), actor)
    if chosen.order:
        return None
    shown = rows_of(actor, chosen, Filter.read(chosen.name, address))
    place = Cursor(tuple(getattr(task, column.name) for column in shown.order))
    rows = shown.page(place, 1, without=UNSEEN).rows
    return rows[0] if rows else None


def list_address(query: str) -> str:
    """Lead to a list as it was asked for, or to the team's page."""
    if QueryDict(query).get("view") == TEAM:
        return reverse("inbox:team") + f"?{query}"
    return f"{reverse('inbox:mine')}?{query or 'view=mine'}"


def task_address(task_id: UUID, query: str) -> str:
    """Lead to a task, carrying along the list one comes from."""
    address = reverse("inbox:task", args=[task_id])
    return f"{address}?{urlencode({CAME_FROM: query})}" if query else address


def following_address(task_id: UUID, query: str) -> str:
    """Lead to what follows a task that was answered."""
    address = reverse("inbox:following", args=[task_id])
    return f"{address}?{urlencode({CAME_FROM: query})}" if query else address


def came_from(request: InboxRequest) -> str:
    """Read which list one came from: as the address says, else as the browser says."""
    if CAME_FROM in request.GET:
        return request.GET[CAME_FROM][:LONGEST]
    before = urlsplit(request.headers.get("Referer", ""))
    if before.netloc != request.get_host():
        return ""
    if before.path == reverse("inbox:mine"):
        return before.query[:LONGEST] or "view=mine"
    return (
        QueryDict(before.query).get(CAME_FROM, "")[:LONGEST]
        if before.path.startswith(reverse("inbox:mine") + "tasks/")
        else ""
    )


def _address(task_id: UUID, query: str, usual: str) -> str:
    return task_address(task_id, query or f"view={usual}")
