"""How soon an idle worker begins: after a signal is committed, and after a timer's moment."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import transaction

from benchmarks.bench_tenant import BenchTenant, set_up_tenant
from benchmarks.measuring import percentile
from benchmarks.report import Goal, Report, at_most
from benchmarks.workers import wait_until_ended, working
from engine.models import Instance
from engine.services.instances.lifecycle import start_instance
from engine.services.instances.signals import send_keyed_signal


def run(short: bool) -> Report:
    """Send signals and let timers fall due, one at a time, to a worker with nothing else to do."""
    bench = set_up_tenant()
    samples = 20 if short else 300
    with working():
        _warm_up(bench)
        signals = [_signal(bench, number) for number in range(samples)]
        timers = _timers(bench, samples)
    rows = (_row("signal committed → transition begun", signals), _row("timer due → transition begun", timers))
    goals = (
        at_most("signal → begun, p50", 5, percentile(signals, 0.50), "ms"),
        at_most("signal → begun, p99", 20, percentile(signals, 0.99), "ms"),
        Goal("timers never early", "≥ 0 ms", f"{min(timers):.2f} ms", min(timers) >= 0),
        at_most("timer → begun, p99", 50, percentile(timers, 0.99), "ms"),
    )
    notes = (
        f"{samples} samples each, one worker, otherwise idle; begun = the database's clock when the slice was loaded.",
    )
    headers = ("what", "p50 ms", "p99 ms", "least ms", "most ms")
    return Report("latency", "How soon an idle worker begins", headers, rows, goals, notes)


def _row(name: str, values: list[float]) -> tuple[str, ...]:
    figures = (percentile(values, 0.5), percentile(values, 0.99), min(values), max(values))
    return (name, *(f"{figure:.2f}" for figure in figures))


def _warm_up(bench: BenchTenant) -> None:
    for number in range(3):
        _signal(bench, -1 - number)


def _signal(bench: BenchTenant, number: int) -> float:
    """Send one signal to a case that waits for it; return the milliseconds from its commit to its slice."""
    key = f"order {number}"
    instance = start_instance(actor=bench.starter, template="listening", input={"order": key}).instance
    time.sleep(random.uniform(0.05, 0.15))  # noqa: S311  spreads the samples, keeps no secret
    committed: list[datetime] = []
    with transaction.atomic():
        transaction.on_commit(_stamp(committed))
        send_keyed_signal(actor=bench.starter, name="paid", key=key, payload={})
    while True:
        instance.refresh_from_db()
        if instance.is_over:
            return (instance.updated_at - committed[0]).total_seconds() * 1000
        time.sleep(0.01)


def _stamp(committed: list[datetime]) -> Callable[[], None]:
    """Note the moment between the commit and the wake-up, which comes after it."""
    return lambda: committed.append(datetime.now(UTC))


def _timers(bench: BenchTenant, samples: int) -> list[float]:
    """Let timers of a second fall due at scattered moments; return how many milliseconds late each was."""
    before = Instance.objects.filter(status="completed").count()
    begun = []
    for _ in range(samples):
        begun.append(start_instance(actor=bench.starter, template="second", input={}).instance.pk)
        time.sleep(random.uniform(0.05, 0.25))  # noqa: S311
    wait_until_ended(before + samples)
    ended = Instance.objects.filter(pk__in=begun).values_list("started_at", "updated_at")
    second = timedelta(seconds=1)
    return [(updated - started - second).total_seconds() * 1000 for started, updated in ended]
