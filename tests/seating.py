"""Let checks run side by side on as many seats as the machine has, each telling what it showed when it is over.

Some checks keep a core busy, others wait for servers, browsers and clocks most of the time. One seat more than there
are cores keeps the machine at work; a check of two processes takes two seats. They sit down in the order given.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SEATS = (os.cpu_count() or 1) + 1


@dataclass(frozen=True, slots=True)
class Counts:
    """Count what a family showed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Add two families."""
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        """Write the closing line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """Name something to check, the seats it takes, and how; its words go to the file it is given, None: to the terminal."""

    name: str
    seats: int
    show: Callable[[Path | None], Counts]


def run_in_turn(checks: Sequence[Check]) -> Counts:
    """Run one after the other, with output to the terminal."""
    return sum((_run_in_front(check) for check in checks), Counts())


def run_together(checks: Sequence[Check], scratch: Path, stop: Callable[[], None]) -> Counts:
    """Run side by side; what a check says is told in one piece when it is over.

    When this is told to end meanwhile, no check starts any more, and those that run are stopped.
    """
    seats, telling = Seats(SEATS), Lock()

    def run(number: int, check: Check) -> Counts:
        output = scratch / f"words of check {number}"
        with seats.taken(number, check.seats):
            counts, seconds = _timed(check, output)
        with telling:
            _tell(check, counts, seconds, output.read_text(errors="replace") if output.exists() else "")
        return counts

    with ThreadPoolExecutor(len(checks) or 1) as pool:
        try:
            return sum(pool.map(run, range(len(checks)), checks), Counts())
        except BaseException:
            seats.close()
            stop()
            raise


class Closed(Exception):
    """Nobody sits down any more."""


class Seats:
    """Give seats to those who wait in the order of their numbers."""

    def __init__(self, number: int) -> None:
        self._all = self._free = number
        self._next = 0
        self._closed = False
        self._changed = Condition()

    def close(self) -> None:
        """Send those away who still wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @contextmanager
    def taken(self, turn: int, wanted: int) -> Iterator[None]:
        """Hold seats; more than there are means all of them."""
        held = min(wanted, self._all)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (turn == self._next and held <= self._free))
            if self._closed:
                raise Closed
            self._free -= held
            self._next += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += held
                self._changed.notify_all()


def _run_in_front(check: Check) -> Counts:
    sys.stdout.write(f"── {check.name}\n")
    sys.stdout.flush()
    counts, seconds = _timed(check, None)
    _tell(check, counts, seconds, "")
    return counts


def _timed(check: Check, output: Path | None) -> tuple[Counts, float]:
    started = time.monotonic()
    return check.show(output), time.monotonic() - started


def _tell(check: Check, counts: Counts, seconds: float, words: str) -> None:
    sys.stdout.write(f"{words}── {check.name}: {counts} in {seconds:.1f} s\n")
    sys.stdout.flush()
