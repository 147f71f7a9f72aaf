"""Read the workers and their queue as RQ notes them in Redis, and open django-rq's own pages to operators."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django_rq.stats_views import prometheus_metrics, stats_json
from django_rq.urls import get_admin_urlpatterns
from rq import Worker
from rq.exceptions import NoSuchJobError
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.worker import BaseWorker

from engine.dispatch.rq import QUEUE, client
from workflowplatform.accounts.levels import TO_CROSS_TENANTS
from workflowplatform.circuit_breaker import REDIS_ERRORS

LEFT_OUT = frozenset({"scheduler_jobs", "cron_scheduler_detail", "cron_job_detail"})
"""Pages about RQ's schedulers, which this platform does not run: what is due later waits in PostgreSQL."""
GONE = (NoSuchJobError, IndexError, ValueError, AssertionError)
"""How django-rq's pages break where a job, a queue or a worker is no more."""


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """One worker as it introduced itself."""

    name: str
    state: str
    host: str
    pid: int | None
    born_at: datetime | None
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Seen:
    """All workers, and how many wake-ups wait; `answers` is False where Redis is away."""

    answers: bool
    workers: tuple[SeenWorker, ...] = ()
    wake_ups: int = 0
    failed: int = 0


def look_at_workers() -> Seen:
    """Ask Redis who works."""
    redis = client(settings.REDIS_URL)
    try:
        queue = Queue(QUEUE, connection=redis, serializer=JSONSerializer)
        workers = sorted((_seen(worker) for worker in Worker.all(connection=redis)), key=lambda worker: worker.name)
        return Seen(True, tuple(workers), queue.count, queue.failed_job_registry.count)
    except REDIS_ERRORS:
        return Seen(False)


def _seen(worker: BaseWorker) -> SeenWorker:
    return SeenWorker(
        name=worker.name,
        state=str(getattr(worker.get_state(), "value", worker.get_state())),
        host=worker.hostname or "",
        pid=worker.pid,
        born_at=_aware(worker.birth_date),
        seen_at=_aware(worker.last_heartbeat),
    )


def _aware(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def queue_pages(admin_view: Callable[..., Any]) -> list[URLPattern]:
    """Return django-rq's pages, for level 6 in the admin; without Redis they redirect to the page that says so."""

    def wrap(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if getattr(request.user, "level", 0) < TO_CROSS_TENANTS:
                raise PermissionDenied
            try:
                return view(request, *args, **kwargs)
            except GONE as gone:
                raise Http404 from gone
            except REDIS_ERRORS:
                return redirect("admin:engine_workers")

        door: Callable[..., HttpResponseBase] = admin_view(guarded)
        return door

    figures = [
        path("stats.json", wrap(stats_json), name="home_json"),
        path("metrics", wrap(prometheus_metrics), name="metrics"),
    ]
    return [*figures, *(page for page in get_admin_urlpatterns(view_wrapper=wrap) if page.name not in LEFT_OUT)]
