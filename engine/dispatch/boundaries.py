"""Name the moments at which a worker may die, so that tests can kill it at each."""

import os
import signal
from enum import StrEnum


class Boundary(StrEnum):
    CLAIMED = "claimed"
    LOADED = "loaded"
    BEFORE_COMMIT = "before_commit"
    BEFORE_CALL = "before_call"
    AFTER_CALL = "after_call"
    BEFORE_WAKE = "before_wake"


KILL_AT = "WORKFLOW_KILL_AT"
"""Set by fault tests only: the boundary at which this process ends itself as if by kill -9."""


def reached(boundary: Boundary) -> None:
    """Pass a boundary; under a fault test, die here."""
    if os.environ.get(KILL_AT) == boundary:
        os.kill(os.getpid(), signal.SIGKILL)
