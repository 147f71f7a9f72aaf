"""Remember in a browser which answers its person may still take back, so that each page can offer it without asking the database.

The answers themselves are rows (engine.services.tasks.undo): what is here is only what a page says of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone

from engine.models import PendingAnswer

KEY = "pending_answers"
MOST = 20
"""How many a session remembers; the oldest are forgotten, not lost."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Answers that were given together, as a page tells of them."""

    batch_id: UUID
    words: str
    due_at: datetime
    tasks: tuple[UUID, ...]

    @property
    def left(self) -> float:
        """Return how many seconds are left."""
        return round(max((self.due_at - timezone.now()).total_seconds(), 0), 1)

    @property
    def left_whole(self) -> int:
        return max(round(self.left), 1)


def remember(request: HttpRequest, pending: Sequence[PendingAnswer], words: str) -> None:
    """Remember these answers, so that the pages of this browser offer to take them back."""
    entry = {
        "batch": str(pending[0].batch_id),
        "words": words,
        "due": max(one.due_at for one in pending).isoformat(),
        "tasks": [str(one.task_id) for one in pending],
    }
    request.session[KEY] = [*request.session.get(KEY, ()), entry][-MOST:]


def kept_in(request: HttpRequest) -> list[Kept]:
    """Return what this browser remembers, the oldest first."""
    session = getattr(request, "session", None)
    return [_read(entry) for entry in session.get(KEY, ())] if session is not None else []


def waiting_in(request: HttpRequest) -> list[Kept]:
    """Return what can still be taken back."""
    return [one for one in kept_in(request) if one.left]


def find(request: HttpRequest, batch_id: UUID) -> Kept | None:
    """Return what this browser remembers of answers that were given together."""
    return next((one for one in kept_in(request) if one.batch_id == batch_id), None)


def forget(request: HttpRequest, batch_id: UUID) -> None:
    """Remove these answers from what this browser remembers."""
    left = [entry for entry in request.session.get(KEY, ()) if entry["batch"] != str(batch_id)]
    if len(left) != len(request.session.get(KEY, ())):
        request.session[KEY] = left


def _read(entry: Any) -> Kept:
    tasks = tuple(UUID(one) for one in entry["tasks"])
    return Kept(UUID(entry["batch"]), entry["words"], datetime.fromisoformat(entry["due"]), tasks)
