"""Measure side by side: rounds of each competitor in turn, so that a busy moment hits all of them alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lap:
    """One round of one competitor."""

    units: int
    seconds: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Result:
    """All rounds of one competitor."""

    laps: tuple[Lap, ...]

    @property
    def rate(self) -> float:
        """Units per second in the median round."""
        return statistics.median(lap.units / lap.seconds for lap in self.laps)

    @property
    def cpu(self) -> float:
        """Milliseconds of this process's own processor time a unit, in the middle round."""
        return 1000 * statistics.median(lap.cpu / lap.units for lap in self.laps)

    def against(self, other: "Result") -> float:
        """How many times the other's rate this one reaches: the middle of the ratios, round by round."""
        pairs = zip(self.laps, other.laps, strict=True)
        return statistics.median((own.units / own.seconds) / (its.units / its.seconds) for own, its in pairs)


def lap(work: Callable[[], int]) -> Lap:
    """Time one round; the garbage of earlier rounds is not its own."""
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    units = work()
    return Lap(units, time.perf_counter() - began, time.process_time() - cpu)


def interleave(competitors: Mapping[str, Callable[[], Lap]], rounds: int) -> dict[str, Result]:
    """Let each run once to warm up, then all in turn, the order reversed every other round."""
    for run in competitors.values():
        run()
    laps: dict[str, list[Lap]] = {name: [] for name in competitors}
    for number in range(rounds):
        names = list(competitors)
        for name in names if number % 2 == 0 else reversed(names):
            laps[name].append(competitors[name]())
    return {name: Result(tuple(found)) for name, found in laps.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which that share of the values is."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
