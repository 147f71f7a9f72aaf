"""W3: drain pending signals, fifty instances per commit, against one per commit, raw psycopg, and one RQ job per signal."""

import os
import resource
import time
from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.db import connection

from benchmarks.bench_tenant import BenchTenant, make_due, pending, set_up_tenant, start_instances
from benchmarks.jobs import enqueue_each, work_off
from benchmarks.measuring import Lap, Result, interleave, lap
from benchmarks.recording import Recording, connect, play, recorded, recording_of
from benchmarks.report import Report, at_least
from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.drain import Drained, drain_once
from engine.runtime.definition_cache import definition_of

FIFTY, ONE, RAW_FIFTY, RAW_ONE, JOBS = (
    "drain of 50", "drain of 1", "raw psycopg, 50 in one statement", "raw psycopg, one by one", "one RQ job per signal",
)  # fmt: skip


def run(short: bool) -> Report:
    """Compare ways to apply signals, then drain a large backlog with several workers."""
    bench = set_up_tenant()
    signals, rounds = (200, 3) if short else (1_000, 9)
    backlog = 1_000 if short else 20_000
    found = compete(bench, signals, rounds)
    crowd = {workers: _crowd(bench, backlog, workers) for workers in (1, 2, 4)}
    rows = [(name, f"{result.rate:,.0f}", f"{result.cpu:.2f}") for name, result in found.items()]
    rows += [
        (f"backlog of {backlog:,}, workers: {n}", f"{one.rate:,.0f}", f"{one.cpu:.2f}") for n, one in crowd.items()
    ]
    goals = (
        at_least("one transition in a drain: share of raw psycopg", 50, 100 * found[ONE].against(found[RAW_ONE]), "%"),
        at_least("drain of 50 against drain of 1", 2, found[FIFTY].against(found[ONE])),
        at_least("drain of 50 against raw psycopg one by one", 2, found[FIFTY].against(found[RAW_ONE])),
        at_least("drain of 50 against one RQ job per signal", 10, found[FIFTY].against(found[JOBS])),
    )
    notes = (f"{rounds} rounds of {signals} signals. Raw psycopg only writes: it neither reads, locks nor decides.",)
    return Report("W3", "W3, pending signals", ("way", "signals/s", "client ms"), tuple(rows), goals, notes)


def compete(bench: BenchTenant, signals: int, rounds: int) -> dict[str, Result]:
    """Let each way apply as many signals, in turn."""
    fifty, one = _record(bench, 50), _record(bench, 1)
    competitors: dict[str, Callable[[], Lap]] = {
        FIFTY: lambda: drained(bench, signals, 50),
        ONE: lambda: drained(bench, signals, 1),
        RAW_FIFTY: lambda: _raw(fifty, signals // 50, 50),
        RAW_ONE: lambda: _raw(one, signals, 1),
        JOBS: lambda: _jobs(bench, signals),
    }
    return interleave(competitors, rounds)


def _record(bench: BenchTenant, count: int) -> Recording:
    with recorded() as kept:
        start_instances(bench, "w3", count)
        make_due()
        drain_all(count)
    assert len(kept) == 2, [text[:60] for text, _ in kept]
    return recording_of(kept, strict=False)


def drain_all(batch: int) -> int:
    """Apply everything due, so many instances a commit; return how many signals that was."""
    settings.WORKFLOW_DRAIN_BATCH = batch
    done, calls = Drained(), CallsUnderWay()
    while drain_once(done, calls):
        pass
    return done.signals


def drained(bench: BenchTenant, signals: int, batch: int) -> Lap:
    """Drain so many signals, so many instances a commit."""
    start_instances(bench, "w3", signals)
    make_due()
    return lap(lambda: drain_all(batch))


def _raw(recording: Recording, plays: int, each: int) -> Lap:
    birth, drain = recording.commits
    with connect() as own, own.cursor() as cursor:
        for _ in range(8):
            fresh = recording.fresh()
            play(cursor, birth, fresh)
            play(cursor, drain, fresh)
        cases = [recording.fresh() for _ in range(plays)]
        for fresh in cases:
            play(cursor, birth, fresh)

        def work() -> int:
            for fresh in cases:
                play(cursor, drain, fresh)
            return plays * each

        return lap(work)


def _jobs(bench: BenchTenant, signals: int) -> Lap:
    started: list[UUID] = start_instances(bench, "w3", signals)
    make_due()
    enqueue_each(started)

    def work() -> int:
        work_off()
        return signals

    taken = lap(work)
    assert pending() == 0, "every job applied its signal"
    return taken


def _crowd(bench: BenchTenant, backlog: int, workers: int) -> Result:
    """Let so many processes empty one backlog; time it from the moment all of them are ready."""
    start_instances(bench, "w3", backlog)
    make_due()
    definition_of.cache_clear()
    connection.close()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = _run_workers(workers)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert pending() == 0
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Result((Lap(backlog, seconds, cpu),))


def _run_workers(workers: int) -> float:
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    children = [_fork(ready_write, go_read) for _ in range(workers)]
    for _ in children:
        os.read(ready_read, 1)
    began = time.perf_counter()
    os.write(go_write, b"g" * workers)
    for child in children:
        os.waitpid(child, 0)
    for handle in (ready_read, ready_write, go_read, go_write):
        os.close(handle)
    return began


def _fork(ready: int, go: int) -> int:
    child = os.fork()
    if child:
        return child
    settings.WORKFLOW_DRAIN_BATCH = 50
    pending()
    os.write(ready, b"r")
    os.read(go, 1)
    done, calls = Drained(), CallsUnderWay()
    while drain_once(done, calls) or pending():
        pass
    connection.close()
    os._exit(0)
