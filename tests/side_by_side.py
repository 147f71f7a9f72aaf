"""Compare times under load with times without it, in one run, so that other work on the machine changes both alike.

Quiet and loud rounds alternate. Each pair of rounds gives one ratio of p95s; the median of these ratios is the figure.
After each quiet round a control computes something that needs nothing of the platform: where that gets much less than a core, the
machine is busy with other things, the figure says nothing, and everything is measured once more. The bound stays the same: a
machine that stays busy cannot judge it, so the test is skipped with its figure. `bin/test --security` runs alone, and is red if a
test was skipped: it names the promises that it could not judge.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import median, quantiles

import pytest

Measure = Callable[[], Sequence[float]]

ROUNDS = 5
OVERLOADED = 1.25
"""A control that takes so many times its own processor time shares its core with other work."""
CONTROL_SECONDS = 0.1
BLOCK = b"x" * 100_000


def p95(seconds: Sequence[float]) -> float:
    """Return what one of twenty exceeds."""
    return quantiles(seconds, n=20)[-1]


def control() -> float:
    """Return how many times longer than its processor time a computation takes now."""
    began, used = time.perf_counter(), time.thread_time()
    while time.thread_time() - used < CONTROL_SECONDS:
        sha256(BLOCK).digest()
    return (time.perf_counter() - began) / (time.thread_time() - used)


@dataclass
class Comparison:
    """Rounds of seconds, quiet and loud, each pair one after the other."""

    quiet: list[Sequence[float]] = field(default_factory=list)
    loud: list[Sequence[float]] = field(default_factory=list)
    controls: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Return how many times longer one of twenty waits under load than without it."""
        return median(p95(loud) / p95(quiet) for quiet, loud in zip(self.quiet, self.loud, strict=True))

    @property
    def is_overloaded(self) -> bool:
        return median(self.controls) > OVERLOADED

    def __str__(self) -> str:
        quiet, loud = (1000 * median(map(p95, rounds)) for rounds in (self.quiet, self.loud))
        return (
            f"p95 {loud:.0f} ms against {quiet:.0f} ms quiet, {self.ratio:.1f} × (control {median(self.controls):.2f})"
        )


def require_below(bound: float, found: Comparison) -> None:
    """Judge the ratio; where it is too large on a machine that is busy with other things, say so instead."""
    if found.ratio >= bound and found.is_overloaded:
        pytest.skip(f"this machine is busy with other things and cannot judge: {found}")
    assert found.ratio < bound, found


def compare(quiet: Measure, loud: Measure, rounds: int = ROUNDS) -> Comparison:
    """Measure quiet and loud in turn; where the machine is busy with other things, measure all of it once more."""
    first = _compare(quiet, loud, rounds)
    return _compare(quiet, loud, rounds) if first.is_overloaded else first


def _compare(quiet: Measure, loud: Measure, rounds: int) -> Comparison:
    found = Comparison()
    for _ in range(rounds):
        found.quiet.append(quiet())
        found.controls.append(control())  # while it is quiet: the load itself is no other work
        found.loud.append(loud())
    return found
