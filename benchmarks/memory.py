"""How much memory a worker holds after long work."""

from benchmarks.bench_tenant import make_due, set_up_tenant, start_instances
from benchmarks.report import Report, at_most
from benchmarks.workers import resident_megabytes, wait_until_ended, working


def run(short: bool) -> Report:
    """Let one worker drain timers and make calls, and look at its memory."""
    bench = set_up_tenant()
    signals, calls = (1_000, 20) if short else (20_000, 500)
    start_instances(bench, "w3", signals)
    make_due()
    with working() as worker:
        wait_until_ended(signals)
        after_signals = resident_megabytes(worker)
        start_instances(bench, "w2", calls)
        wait_until_ended(signals + calls)
        after_calls, most = resident_megabytes(worker), resident_megabytes(worker, "VmHWM")
    rows = (
        (f"after {signals:,} signals", f"{after_signals:.0f}"),
        (f"after {calls:,} more cases with calls and retries", f"{after_calls:.0f}"),
        ("at most", f"{most:.0f}"),
    )
    goals = (at_most("a worker's resident memory, at most", 150, most, "MB"),)
    return Report("memory", "A worker's memory", ("when", "MB resident"), rows, goals)
