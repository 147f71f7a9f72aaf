"""Return what became of each step, by its path, for pictures and outlines."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from engine.kernel.language.step_lists import HOLDS_STEPS


class Run(Protocol):
    """A run of a step, stored or only tried."""

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def status(self) -> str: ...


STATE_OF: Mapping[str, str] = {
    "pending": "todo",
    "running": "here",
    "success": "done",
    "failed": "failed",
    "skipped": "skipped",
    "retrying": "again",
    "timed_out": "failed",
    "cancelled": "skipped",
    "compensated": "skipped",
}


def states_of(step_runs: Iterable[Run]) -> dict[str, str]:
    """Return the state of every step that was reached; of several runs the last one counts."""
    return {run.path: _state(run) for run in step_runs}


def _state(run: Run) -> str:
    """Return the state of a run: a step that contains others is under way while they wait; it does not wait itself."""
    return "inside" if run.status == "running" and run.kind in HOLDS_STEPS else STATE_OF[run.status]
