"""W2: a timer, two failures, success: what a call that fails twice costs from start to end."""

import time
from collections.abc import Callable

from benchmarks.bench_tenant import BenchTenant, set_up_tenant, start_instances
from benchmarks.measuring import Lap, interleave, lap
from benchmarks.recording import Recording, connect, play, recorded, recording_of
from benchmarks.report import Report, at_least
from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.drain import Drained, drain_once
from engine.models import Instance

OURS, RAW = "drained", "raw psycopg, the same commits"


def run(short: bool) -> Report:
    """Measure cases from start to end against the same commits by hand."""
    bench = set_up_tenant()
    cases, rounds = (20, 3) if short else (100, 9)
    recording = _record(bench)
    competitors: dict[str, Callable[[], Lap]] = {
        OURS: lambda: lap(lambda: _cases(bench, cases)),
        RAW: lambda: _raw(recording, cases),
    }
    found = interleave(competitors, rounds)
    rows = tuple((name, f"{result.rate:,.0f}", f"{result.cpu:.2f}") for name, result in found.items())
    share = 100 * found[OURS].against(found[RAW])
    counted = f"{rounds} rounds of {cases} cases, all begun together; {len(recording.commits)} commits per case."
    unlike = "Drained holds the timer's and the retries' own time (10 ms each) and the calls; raw psycopg only writes."
    goals = (at_least("share of raw psycopg", 50, share, "%"),)
    headers = ("way", "cases/s", "client ms")
    return Report("W2", "W2, a timer, two failures, success", headers, rows, goals, (counted, unlike))


def _cases(bench: BenchTenant, cases: int) -> int:
    started = start_instances(bench, "w2", cases)
    done, calls = Drained(), CallsUnderWay()
    while Instance.objects.filter(pk__in=started).exclude(status="completed").exists():
        if not drain_once(done, calls):
            time.sleep(0.005)
    return cases


def _record(bench: BenchTenant) -> Recording:
    with recorded() as kept:
        _cases(bench, 1)
    return recording_of(kept, strict=False)


def _raw(recording: Recording, cases: int) -> Lap:
    with connect() as own, own.cursor() as cursor:

        def work() -> int:
            for _ in range(cases):
                fresh = recording.fresh()
                for commit in recording.commits:
                    play(cursor, commit, fresh)
            return cases

        work()
        return lap(work)
