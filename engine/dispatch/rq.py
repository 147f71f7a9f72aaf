"""Wake drains through RQ. The queue of record is in PostgreSQL; Redis holds a flag and now and then one job.

After a commit `wake` sets a flag that lives for five seconds, and only if that set it and no job waits in the queue, enqueues one
with a fresh id: jobs never pile up, however long workers are busy. The drain deletes the flag before its first look, so that a
signal committed later sets it again. A lost job or an emptied Redis costs one look's distance, never work.

`DrainWorker` is what both `manage.py rqworker` and `manage.py worker` run: no fork per job, JSON only, and awake at the next
due moment without any job. It drains as soon as it has taken a job and runs nothing that Redis names: a client that can write
there could name any function. It makes calls between its looks. While Redis is away, refuses it or has forgotten it,
it works by the clock alone, from the start too, and waits for a database that is away.
"""

import logging
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import django_rq
import structlog
from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, close_old_connections, connection
from redis import Redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry
from rq import SimpleWorker, worker_registration
from rq.exceptions import DequeueTimeout, StopRequested
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.utils import now
from rq.worker import WorkerStatus

from engine.conf import conf
from engine.db.transactions import TOLD
from engine.dispatch.audit_roots import RootMaker
from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.crash_points import Boundary, reached
from engine.dispatch.diagrams import DiagramWorker
from engine.dispatch.drain import WHILE_CALLING, Drained, drain, look_without_claim, seconds_to_next_look
from engine.dispatch.fairness import Turns
from engine.dispatch.notifications import NotificationSender
from engine.dispatch.retention import Sweeper
from engine.dispatch.webhooks import WebhookSender
from engine.runtime import coordinator
from engine.runtime.environment import never
from workflowplatform.circuit_breaker import REDIS_ERRORS, CircuitBreaker
from workflowplatform.database.error_causes import cause_of
from workflowplatform.database.tenancy import crossing

log = structlog.get_logger(__name__)

QUEUE = "default"
LAPSES_AFTER, RQ_ADDS = 75, 60
"""A registration lapses so many seconds after its worker's last look: longer than any look, short enough for the health."""
FLAG = "workflow:wake"
DRAIN_JOB = f"{__name__}.drain_job"
SLEEP_AHEAD = 0.1
"""Redis ends blocking reads up to this much late: block until that long before, then ask every few milliseconds."""
ASK_EVERY = 0.005
ASK_WHILE_CALLING = 0.01
"""How often a worker polls for wake-ups while calls are under way: a result cannot end a blocking read."""
LOOK_WITHOUT_REDIS = 1.0
"""How often a worker looks that nobody can wake."""
LOOK_WITHOUT_DATABASE = 0.5
PATIENCE_SECONDS = 2.0
"""How long a request waits for Redis after its commit; redis-py's own way would be to try again for half a minute."""
TOLD_EVERY = 0.2
"""How often a process wakes streams: each wake-up is a round trip that a request waits for."""
AWAY = (OperationalError, InterfaceError, InternalError)
"""How a database says that it cannot serve now; the last is what a server says that became read-only."""


def _once_more() -> Retry:
    """Try a second time at once: a connection kept from before a restart fails once. A slow server is not asked again."""
    return Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))


@cache
def client(address: str) -> Redis:
    """Return this process's connection to Redis, impatient."""
    return Redis.from_url(
        address, retry=_once_more(), socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS
    )


class RqDispatcher:
    """Wake a worker by one job, however many signals were written."""

    def __init__(self) -> None:
        self._breaker = CircuitBreaker()
        self._told_until = 0.0

    def wake(self) -> None:
        """Enqueue a drain unless one is announced already."""
        reached(Boundary.BEFORE_WAKE)
        if not self._breaker.allows():
            return
        try:
            self._announce()
            self._breaker.succeeded()
        except REDIS_ERRORS as error:
            self._breaker.failed(error)
            log.warning("could not wake a worker, it will look by itself", within_seconds=conf.wake_seconds)

    def _announce(self) -> None:
        """Enqueue one job, unless one is queued already: the worker that takes it will look later than now."""
        queue = Queue(QUEUE, connection=client(settings.REDIS_URL), serializer=JSONSerializer)
        if queue.connection.set(FLAG, 1, nx=True, ex=5) and not queue.count:
            queue.enqueue(drain_job, result_ttl=0, failure_ttl=60, job_timeout=120)

    def wake_in(self, seconds: float) -> None:
        """Announce a delayed signal if an idle worker might otherwise sleep past it."""
        if seconds < conf.wake_seconds:
            self.wake()

    def wake_streams(self) -> None:
        """Ring for open streams, but seldom: after a ring they look on for a while by themselves."""
        now = time.monotonic()
        if now < self._told_until or not self._breaker.allows():
            return
        self._told_until = now + TOLD_EVERY
        try:
            client(settings.REDIS_URL).publish(TOLD, b"")
            self._breaker.succeeded()
        except REDIS_ERRORS as error:
            self._breaker.failed(error)


dispatcher = RqDispatcher()


def drain_job() -> None:
    """Empty the queue: the one job that is ever enqueued. Our own workers drain by themselves when they take it."""
    _lower_flag(client(settings.REDIS_URL))
    look()


def _lower_flag(redis: Redis) -> None:
    redis.delete(FLAG)


def look(calls: CallsUnderWay | None = None, stop: Callable[[], bool] = never, turns: Turns | None = None) -> Drained:
    """Drain what is due, whether or not anybody announced it; outlive a database that is away for a while."""
    connection.close_at = None  # a worker keeps its connection, and with it the plans of its statements
    close_old_connections()
    try:
        drained = drain(calls, stop, turns)
    except AWAY as error:
        _log_away(error)
        connection.close()
        time.sleep(random.uniform(0.05, LOOK_WITHOUT_DATABASE))  # noqa: S311  spreads workers, keeps no secret
        return Drained()
    if drained.done:
        log.info("drained", signals=drained.signals, calls=drained.calls, rows=drained.rows, started=drained.started)
    return drained


def _log_away(error: Exception) -> None:
    """Log why the database cannot serve, in the same words as the web."""
    cause = cause_of(error)
    log.warning(cause.event, code=cause.code, error=type(error.__cause__ or error).__name__)


def tolerating_loss(method: Callable[..., None]) -> Callable[..., None]:
    """Ignore it when one of RQ's notes in Redis is lost: nothing that counts is written there, so no worker may end by it.

    Nor may one wait: notes are left out until a worker that looks has found Redis back.
    """

    @wraps(method)
    def tolerant(worker: "DrainWorker", *args: Any, **kwargs: Any) -> None:
        if not worker.breaker.is_closed:
            return
        try:
            method(worker, *args, **kwargs)
        except REDIS_ERRORS as error:
            worker.miss_redis(error)

    return tolerant


class DrainWorker(SimpleWorker):
    """An RQ worker that also looks by itself when the next signal falls due."""

    ip_address = "unknown"
    _waiting = False

    def __init__(self, queues: Any, *args: Any, **kwargs: Any) -> None:
        kwargs |= {"serializer": JSONSerializer, "worker_ttl": LAPSES_AFTER - RQ_ADDS}
        self.breaker = CircuitBreaker()
        super().__init__(queues, *args, **kwargs)
        for queue in self.queues:
            queue.serializer = self.serializer
        self.log_job_description = False
        self._diagrams = DiagramWorker()
        self._webhooks = WebhookSender()
        self._notifications = NotificationSender()
        self._sweeper = Sweeper()
        self._roots = RootMaker()
        self._calls = CallsUnderWay()
        self._turns = Turns()

    def _set_connection(self, connection: Redis) -> Redis:
        """Ask Redis for no longer than the longest look, where RQ would wait for minutes."""
        patience = {
            "socket_timeout": conf.wake_seconds + PATIENCE_SECONDS,
            "socket_connect_timeout": PATIENCE_SECONDS,
        }
        connection.connection_pool.connection_kwargs.update(patience)
        connection.set_retry(_once_more())
        return connection

    def miss_redis(self, error: Exception) -> None:
        """Open the breaker. Say once that Redis is away, not at every look."""
        if self.breaker.is_closed:
            log.warning("Redis does not answer, looking by the clock", error=type(error).__name__)
        self.breaker.failed(error)

    def _ask_again(self) -> None:
        """Find out whether Redis is back, with less patience than a worker has that waits for a wake-up."""
        if not self.breaker.allows():
            return
        try:
            client(settings.REDIS_URL).ping()
            self._register_life()
            self.breaker.succeeded()
        except REDIS_ERRORS as error:
            self.miss_redis(error)

    _set_ip_address = tolerating_loss(SimpleWorker._set_ip_address)
    register_death = tolerating_loss(SimpleWorker.register_death)
    subscribe = tolerating_loss(SimpleWorker.subscribe)
    unsubscribe = tolerating_loss(SimpleWorker.unsubscribe)
    set_state = tolerating_loss(SimpleWorker.set_state)
    check_for_suspension = tolerating_loss(SimpleWorker.check_for_suspension)
    execute_job = tolerating_loss(SimpleWorker.execute_job)

    @tolerating_loss
    def run_maintenance_tasks(self) -> None:
        """Forget workers that are gone. Nothing of ours is in RQ's registries: to tidy them would call what a job there names."""
        self.clean_registries()

    def clean_registries(self) -> None:
        """Clean the registry of workers only."""
        for queue in self.queues:
            worker_registration.clean_worker_registry(queue)
        self.last_cleaned_at = now()  # type: ignore[assignment]  # RQ says None, for never

    @tolerating_loss
    def register_birth(self) -> None:
        """Introduce this worker; a note of one that was killed under the same name keeps nobody from working."""
        try:
            super().register_birth()  # type: ignore[no-untyped-call]
        except ValueError:
            self._register_again()

    @tolerating_loss
    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Report to Redis that this worker lives; register it again where Redis has lost it."""
        if pipeline is not None:
            super().heartbeat(timeout, pipeline)
        else:
            self._register_life(timeout)

    def _register_life(self, timeout: int | None = None) -> None:
        with self.connection.pipeline() as notes:
            super().heartbeat(timeout, notes)
            notes.sismember(self.redis_workers_keys, self.key)
            known = notes.execute()[-1]
        if not known:
            self._register_again()

    def _register_again(self) -> None:
        self.birth_date, self.last_heartbeat = self.birth_date or now(), self.last_heartbeat or now()
        with self.connection.pipeline() as notes:
            notes.hset(self.key, mapping=self.serialize())
            notes.expire(self.key, self.worker_ttl + RQ_ADDS)
            worker_registration.register(self, notes)
            notes.execute()

    def work(self, *args: Any, **kwargs: Any) -> bool:
        """Work; end the process at once after a signal to stop.

        Nothing is open any more by then, and the interpreter would take half a second to clear its memory.
        """
        worked = super().work(*args, **kwargs)
        if self._stop_requested:
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        return worked

    def request_stop(self, signum: Any, frame: Any) -> None:
        """Stop at once when idle, else at the next step of the slice in hand; a second request is cold."""
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
        lasting = timeout is not None
        while not (self._stop_requested or self._should_leave):
            drained = self._look(lasting=lasting)
            self._do_in_background()
            found = self._next_job(timeout, drained)
            if found is not None:
                self._woken_by(found[0], lasting=lasting)
            elif timeout is None:
                return None
            if max_idle_time is not None and time.monotonic() - idle_since > max_idle_time:
                return None
        if not self._stop_requested:
            log.warning("a call that was given up still runs, leaving its process", worker=self.name)
        raise StopRequested

    def be_replaceable(self) -> None:
        """Exit rather than keep working with a thread that never ends: a supervisor starts another worker."""
        self._calls.replaceable = True

    @property
    def _should_leave(self) -> bool:
        """Return whether a given-up thread still runs here and no other call has to be awaited."""
        return self._calls.is_spoiled and not self._calls.count

    def _look(self, *, lasting: bool) -> Drained:
        """Drain; a lasting worker lets calls continue, one that ends with the queue waits for them."""
        return look(
            self._calls if lasting else None, lambda: bool(self._stop_requested) or self._should_leave, self._turns
        )

    def _woken_by(self, job: Job, *, lasting: bool) -> None:
        """Drain on being woken. The job itself is dropped, never run: what it names is only worth a line in the log."""
        name = _name_of(job)
        if name != DRAIN_JOB:
            log.warning("dropped a job that is not ours from Redis", job=job.id, function=name)
        try:
            self.connection.delete(job.key)
            _lower_flag(self.connection)
        except REDIS_ERRORS as error:
            self.miss_redis(error)
        self._look(lasting=lasting)

    @crossing("background")
    def _do_in_background(self) -> None:
        """Send webhooks and notifications, compute layouts, run retention, sign the audit; try an absent database again later."""
        try:
            self._webhooks.look()
            self._notifications.look()
            self._diagrams.look()
            self._sweeper.look()
            self._roots.look()
        except AWAY:
            connection.close()

    def _next_job(self, timeout: int | None, drained: Drained) -> tuple[Job, Queue] | None:
        """Block for a job until shortly before the next due moment, then stay awake for it."""
        ahead = self._seconds_ahead(drained)
        until = time.monotonic() + ahead
        self._waiting = True
        try:
            if self._stop_requested:  # since the last look
                raise StopRequested
            if self.breaker.is_closed:
                self.heartbeat()
            else:
                self._ask_again()
            if not self.breaker.is_closed:
                time.sleep(min(ahead, LOOK_WITHOUT_REDIS))
                return None
            if self._calls.count:
                return self._next_job_beside_calls(until)
            found = self._pop(ahead - SLEEP_AHEAD if timeout is not None else None)
            while found is None and timeout is not None and (left := until - time.monotonic()) > 0:
                time.sleep(min(left, ASK_EVERY))
                found = self._pop(None)
        except REDIS_ERRORS as error:
            self.miss_redis(error)
            time.sleep(min(ahead, LOOK_WITHOUT_REDIS))
            return None
        finally:
            self._waiting = False
        return found

    def _next_job_beside_calls(self, until: float) -> tuple[Job, Queue] | None:
        """Wait for a job or the result of a call, whichever comes first, or until then."""
        while True:
            left = until - time.monotonic()
            ended = self._calls.wait(max(0.0, min(left, ASK_WHILE_CALLING)))
            found = self._pop(None)
            if found is not None or ended or left <= 0:
                return found

    def _seconds_ahead(self, drained: Drained) -> float:
        if drained.has_more:
            return 0.0
        if self._calls.count:
            return WHILE_CALLING
        try:
            beside = min(
                one.every for one in (self._webhooks, self._notifications, self._diagrams, self._sweeper, self._roots)
            )
            nearest = min(beside, conf.wake_seconds)
            return min(seconds_to_next_look(drained.looked_at), nearest)
        except AWAY:
            connection.close()
            return LOOK_WITHOUT_DATABASE

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
        except (StopRequested, *REDIS_ERRORS):
            raise
        except Exception as error:  # noqa: BLE001  another client can write anything into Redis; the id is off the queue by now
            log.warning("dropped a job that cannot be read from Redis", error=type(error).__name__)
            return None

    def teardown(self) -> None:
        """Wait for calls under way, as far as that can be asked, and leave nothing open."""
        try:
            self._sweeper.leave()
            self._roots.leave()
            self._calls.settle_all(conf.stop_seconds)
        except AWAY:
            log.warning("the database did not answer, calls under way are made again later", calls=self._calls.count)
        super().teardown()  # type: ignore[no-untyped-call]
        connection.close()


def _name_of(job: Job) -> str:
    try:
        return str(job.func_name)
    except Exception:  # noqa: BLE001  the same
        return "unreadable"


def warm_up() -> None:
    """Connect to the database and to Redis, and prepare the statements of a look without taking anything."""
    try:
        look_without_claim()
        client(settings.REDIS_URL).ping()
    except (*AWAY, *REDIS_ERRORS):  # a worker waits for both by itself
        connection.close()


def make_worker(name: str) -> DrainWorker:
    """Return a worker under this name, as the settings want it."""
    worker = django_rq.get_worker(QUEUE, name=name)
    assert isinstance(worker, DrainWorker)
    coordinator.name_node(name)
    return worker
