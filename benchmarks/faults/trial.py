"""Define fault trials, and find them.

A module of this package that holds trials names them in `TRIALS`; nothing else needs to know. `run` works on the empty,
migrated database and the Valkey that Django's settings name: those of a test run, or private ones that `alone` starts for one
trial. A trial that stops servers starts its own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial showed: figures for its row of the table, and a sentence for everything that must not be."""

    figures: Mapping[str, int | float | str]
    faults: tuple[str, ...] = field(default=())

    @property
    def is_green(self) -> bool:
        """Return whether nothing went wrong."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing that is broken on purpose. The size is what `run` is told: instances, kills, rounds, as `sizes_are` says."""

    name: str
    proves: str
    short: int
    long: int
    run: Callable[[int], Outcome]
    sizes_are: str = "instances"


def find_trials() -> dict[str, Trial]:
    """Return all trials of this package by name, module after module. Django must be set up."""
    return {trial.name: trial for trial in _trials()}


def _trials() -> Iterator[Trial]:
    package = import_module(__package__)
    for found in iter_modules(package.__path__):
        if not found.name.startswith("_"):
            yield from getattr(import_module(f"{__package__}.{found.name}"), "TRIALS", ())
