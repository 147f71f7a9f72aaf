"""Name the moments at which a worker may die, so that tests can kill it at each.

A slice is computed in memory and nothing of it leaves the process before the commit, so that dying inside a step is dying between
the load and the commit of a slice that began such a step: those boundaries are passed when the slice is known.
"""

import os
import signal
from collections.abc import Iterable
from enum import StrEnum


class Boundary(StrEnum):
    CLAIMED = "claimed"
    LOADED = "loaded"
    STEP_ANY_ORDER = "step any_order"
    STEP_CALL = "step call"
    STEP_CANCEL = "step cancel"
    STEP_COMPENSATE = "step compensate"
    STEP_COMPLETE = "step complete"
    STEP_CONTINUE_WITH = "step continue_with"
    STEP_DECIDE = "step decide"
    STEP_EMIT = "step emit"
    STEP_EXIT = "step exit"
    STEP_EXT = "step ext"
    STEP_FAIL = "step fail"
    STEP_FIRST = "step first"
    STEP_FOR_EACH = "step for_each"
    STEP_GRAPH = "step graph"
    STEP_GROUP = "step group"
    STEP_IF = "step if"
    STEP_NET = "step net"
    STEP_PARALLEL = "step parallel"
    STEP_REFERENCE = "step reference"
    STEP_REPEAT = "step repeat"
    STEP_SELECTOR = "step selector"
    STEP_SET = "step set"
    STEP_SIGNAL = "step signal"
    STEP_SWITCH = "step switch"
    STEP_TASK = "step task"
    STEP_WAIT = "step wait"
    STEP_WORKFLOW = "step workflow"
    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"
    BEFORE_WAKE = "before_wake"
    BEFORE_CALL = "before_call"
    AFTER_CALL = "after_call"


STEPS = {
    boundary.removeprefix("step "): boundary for boundary in Boundary if boundary.startswith("step ")
}  # fmt: skip
"""The boundary of each step kind."""

_passes_left: dict[str, int] = {}


def arm(boundary: str, passes: int = 1) -> None:
    """Make this process end itself as if by kill -9 when it passes a boundary for so many times. For fault trials only."""
    _passes_left[boundary] = passes


def reached(boundary: Boundary) -> None:
    """Pass a boundary; under a fault test, die here."""
    if boundary in _passes_left:
        _passes_left[boundary] -= 1
        if _passes_left[boundary] == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def reached_steps(kinds: Iterable[str]) -> None:
    """Pass the boundary of every step kind that a slice began."""
    if _passes_left:
        for kind in kinds:
            reached(STEPS[kind])
