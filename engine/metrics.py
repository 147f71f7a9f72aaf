"""Count what the engine does, for a Prometheus to read.

Counting happens after the commit and needs no query; what is rolled back is never counted. Every process of a host writes its
figures to its own file in one folder. `/metrics` of the web and `manage.py worker --metrics` add the files up: those of web and
forked workers, dead ones included. The state of the queue is read from the database at the time of the request.
"""

import os
from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

from django.db import transaction
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest, multiprocess, values
from prometheus_client.core import GaugeMetricFamily

from engine.conf import conf

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Meters:
    """Everything that is counted."""

    started: Counter
    ended: Counter
    tasks_opened: Counter
    tasks_closed: Counter
    published: Counter
    applied: Counter
    stale: Counter
    dead: Counter
    conflicts: Counter
    transition: Histogram


MAKING = Lock()


def meters() -> Meters:
    """Return the meters of this process, made once whichever threads count first at the same moment."""
    with MAKING:
        return _made()


@cache
def _made() -> Meters:
    """Make them with the first count: each has a file, and most commands count nothing."""
    _choose_folder()

    def counter(name: str, about: str, *labels: str) -> Counter:
        return Counter(f"workflow_{name}", about, labels)

    return Meters(
        started=counter("instances_started", "Instances that began."),
        ended=counter("instances_ended", "Instances that ended, by their last status.", "status"),
        tasks_opened=counter("tasks_opened", "Human tasks that were opened."),
        tasks_closed=counter("tasks_closed", "Human tasks that were closed, by their last status.", "status"),
        published=counter("signals_published", "Signals put into the queue."),
        applied=counter("signals_applied", "Signals that moved their instance, by type.", "type"),
        stale=counter("signals_stale", "Signals that came too late and changed nothing, by type.", "type"),
        dead=counter("signals_dead", "Signals that became dead letters."),
        conflicts=counter("conflicts", "Slices that were redone because another was committed first."),
        transition=Histogram(
            "workflow_transition_seconds", "From the beginning of a slice or batch to its commit.", buckets=SECONDS
        ),
    )


def _choose_folder() -> None:
    """Name the folder of this host's figures to the library; where it cannot be written each process counts for itself."""
    folder = Path(conf.metrics_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        # The library looked for the folder when it was imported; let it look again.
        values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]


RECEIPTS = ("receipts", "own_receipts")
"""The parts of a batch that say what became of a signal."""


def count_batch(rows: Rows, ended: Sequence[str], *, sent: int, began_at: float) -> None:
    """Count a batch of slices once it is committed."""
    tally = Tally(row["status"] for row in rows["closed_tasks"])
    settled = Tally((row["disposition"], row["type"]) for part in RECEIPTS for row in rows[part])
    started, opened = len(rows["new_instances"]), len(rows["new_tasks"])
    published = len(rows["new_signals"]) + sent
    ends = Tally(ended)

    def count() -> None:
        held = meters()
        held.started.inc(started)
        held.tasks_opened.inc(opened)
        held.published.inc(published)
        for status, number in ends.items():
            held.ended.labels(str(status)).inc(number)
        for status, number in tally.items():
            held.tasks_closed.labels(str(status)).inc(number)
        for (disposition, kind), number in settled.items():
            (held.stale if disposition == "stale" else held.applied).labels(str(kind)).inc(number)
        held.transition.observe(perf_counter() - began_at)

    _after_commit(count)


def count_queued() -> None:
    """Count an instance that waits for admission: it has begun, though nothing of it ran."""
    _after_commit(lambda: meters().started.inc())


def count_dead_letter() -> None:
    """Count a dead letter."""
    _after_commit(lambda: meters().dead.inc())


def count_conflict() -> None:
    """Count an act that lost a race for an instance and is done again."""
    meters().conflicts.inc()


def _after_commit(count: Any) -> None:
    """Count after the commit; figures that cannot be written (a full disk) are logged and spoil nothing."""
    transaction.on_commit(count, robust=True)


def exposition(queue: Mapping[str, float] | None = None) -> bytes:
    """Write everything in Prometheus' text form: the counts of all processes of this host, and the state of the queue."""
    return bytes(generate_latest(registry(queue)))


def registry(queue: Mapping[str, float] | None = None) -> CollectorRegistry:
    """Return what is to be exposed."""
    meters()
    shared = "PROMETHEUS_MULTIPROC_DIR" in os.environ
    chosen = CollectorRegistry() if shared or queue else REGISTRY
    if shared:
        multiprocess.MultiProcessCollector(chosen)  # type: ignore[no-untyped-call]
    if queue:
        chosen.register(_Queue(queue))
    return chosen


GAUGES = {
    "pending_signals": ("workflow_queue_due", "Signals that are due and not yet applied."),
    "oldest_due_seconds": ("workflow_queue_age_seconds", "How long the oldest due signal has waited."),
    "limbo": ("workflow_limbo", "Running instances that wait for nothing: always 0."),
    "dead_letters": ("workflow_dead_letters", "Dead letters that nobody has seen to."),
    "unavailable": ("workflow_unavailable_versions", "Active versions that this release cannot run."),
    "workers": ("workflow_workers", "Workers that are alive."),
}


class _Queue:
    """The state of the queue at the time of the request."""

    def __init__(self, facts: Mapping[str, float]) -> None:
        self._facts = facts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for fact, (name, about) in GAUGES.items():
            yield GaugeMetricFamily(name, about, value=self._facts[fact])
