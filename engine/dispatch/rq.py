"""Wake drains through RQ. The queue of record is in PostgreSQL; Redis holds a flag and now and then one job.

After a commit `wake` sets a flag that lives for five seconds, and only if that set it, enqueues one job with a fresh id. The
drain deletes the flag before its first look, so that a signal committed later sets it again. A lost job or an emptied Redis
costs one look's distance, never work.

`DrainWorker` is what both `manage.py rqworker` and `manage.py worker` run: no fork per job, JSON only, and awake at the next
due moment without any job.
"""

import random
import signal
import time
from typing import Any

import django_rq
import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connection
from redis import Redis
from redis.exceptions import RedisError
from rq import SimpleWorker
from rq.exceptions import DequeueTimeout, StopRequested
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.utils import now
from rq.worker import WorkerStatus

from engine.dispatch.boundaries import Boundary, reached
from engine.dispatch.drain import drain, seconds_to_next_look

log = structlog.get_logger(__name__)

QUEUE = "default"
FLAG = "workflow:wake"
SLEEP_AHEAD = 0.1
"""Redis ends blocking reads up to this much late: block until that long before, then sleep."""


class RqDispatcher:
    """Wake a worker by one job, however many signals were written."""

    def wake(self) -> None:
        """Enqueue a drain unless one is announced already."""
        reached(Boundary.BEFORE_WAKE)
        try:
            self._announce()
        except (RedisError, OSError):
            log.warning(
                "could not wake a worker, it will look by itself", within_seconds=settings.WORKFLOW_WAKE_SECONDS
            )

    def _announce(self) -> None:
        queue = django_rq.get_queue(QUEUE)
        if queue.connection.set(FLAG, 1, nx=True, ex=5):
            queue.enqueue(drain_job, result_ttl=0, failure_ttl=60, job_timeout=120)

    def wake_in(self, seconds: float) -> None:
        """Announce a delayed signal if an idle worker might otherwise sleep past it."""
        if seconds < settings.WORKFLOW_WAKE_SECONDS:
            self.wake()


dispatcher = RqDispatcher()


def drain_job() -> None:
    """Empty the queue; the one job that is ever enqueued."""
    _lower_flag(django_rq.get_connection(QUEUE))
    drained = drain()
    if drained.signals or drained.calls:
        log.info("drained", signals=drained.signals, calls=drained.calls, started=drained.started)


def _lower_flag(redis: Redis) -> None:
    redis.delete(FLAG)


class DrainWorker(SimpleWorker):
    """An RQ worker that also looks by itself when the next signal falls due."""

    def __init__(self, queues: Any, *args: Any, **kwargs: Any) -> None:
        kwargs["serializer"] = JSONSerializer
        super().__init__(queues, *args, **kwargs)
        for queue in self.queues:
            queue.serializer = self.serializer
        self.log_job_description = False
        self._waiting = False

    def request_stop(self, signum: Any, frame: Any) -> None:
        """Stop at once when idle, else after the slice in hand; a second request is cold."""
        self._shutdown_requested_date = now()
        self._install_force_stop()
        self._stop_requested = True
        if self._waiting:
            raise StopRequested

    def _install_force_stop(self) -> None:
        for asked in (signal.SIGINT, signal.SIGTERM):
            signal.signal(asked, self.request_force_stop)

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        """Wait for a job or for the next due moment, whichever comes first; drain at each due moment."""
        idle_since = time.monotonic()
        self.set_state(WorkerStatus.IDLE)
        while not self._stop_requested:
            self._look()
            found = self._next_job(timeout)
            if found is not None or timeout is None:
                return found
            if max_idle_time is not None and time.monotonic() - idle_since > max_idle_time:
                return None
        raise StopRequested

    def _look(self) -> None:
        """Drain what is due, whether or not anybody announced it; outlive a database that is away for a while."""
        close_old_connections()
        try:
            drain()
        except (OperationalError, InterfaceError) as error:
            log.warning("the database did not answer, looking again", error=type(error).__name__)
            connection.close()
            time.sleep(random.uniform(0.05, 0.5))  # noqa: S311  spreads workers, keeps no secret

    def _next_job(self, timeout: int | None) -> tuple[Job, Queue] | None:
        """Block for a job until shortly before the next due moment, then sleep the rest."""
        ahead = self._seconds_ahead()
        self._waiting = True
        try:
            self.heartbeat()
            found = self._pop(ahead - SLEEP_AHEAD if timeout is not None else None)
            if found is None and timeout is not None:
                time.sleep(min(ahead, SLEEP_AHEAD))
        except (RedisError, OSError):
            log.warning("Redis does not answer, looking by the clock")
            time.sleep(ahead)
            return None
        finally:
            self._waiting = False
        return found

    def _seconds_ahead(self) -> float:
        try:
            return min(seconds_to_next_look(), settings.WORKFLOW_WAKE_SECONDS)
        except (OperationalError, InterfaceError):
            connection.close()
            return 1.0

    def _pop(self, seconds: float | None) -> tuple[Job, Queue] | None:
        if seconds is not None and seconds <= 0:
            seconds = None
        try:
            return self.queue_class.dequeue_any(
                self._ordered_queues,
                seconds,  # type: ignore[arg-type]
                connection=self.connection,
                job_class=self.job_class,
                serializer=self.serializer,
                death_penalty_class=self.death_penalty_class,
            )
        except DequeueTimeout:
            return None

    def teardown(self) -> None:
        """Leave nothing open."""
        super().teardown()
        connection.close()


def make_worker(name: str) -> DrainWorker:
    """Return a worker under this name, as the settings want it."""
    worker = django_rq.get_worker(QUEUE, name=name)
    assert isinstance(worker, DrainWorker)
    return worker
