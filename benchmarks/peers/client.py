"""One client of one competitor: a process that does so much of a work when told, and says what that took.

It reads one order per line and answers on one line. It knows no competitor and imports nothing that is not in Python, so that it
runs in either environment.
"""

import ctypes
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO

DIES_WITH_PARENT = 1
"""Linux calls it PR_SET_PDEATHSIG."""
Work = Callable[[int], None]
"""Do a work so many times, one after the other or all begun together, and return when all of it is committed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client works: a database of its competitor's own, and which of its clients it is."""

    host: str
    user: str
    database: str
    number: int

    @classmethod
    def told(cls) -> "Place":
        """Read it from the command line."""
        host, user, database, number = sys.argv[1:5]
        return cls(host, user, database, int(number))


def serve(works: Mapping[str, Work]) -> None:
    """Do what is ordered until the orders end, or the process that gives them: a stopped process would not notice that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    _say(answers, {"works": sorted(works)})
    for line in sys.stdin:
        order = json.loads(line)
        gc.collect()
        cpu, began = time.process_time(), time.perf_counter()
        works[order["work"]](order["units"])
        _say(answers, {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu})
    os._exit(0)  # without waiting for threads of a library


def _say(answers: TextIO, answer: object) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
