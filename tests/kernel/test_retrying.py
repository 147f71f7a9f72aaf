"""Retries: spread out, and the compiler's short cuts that agree with the interpreter's tables."""

from engine.kernel.definition import GATED, WATCHED
from engine.kernel.machine.step_start import GATES
from engine.kernel.machine.step_timers import WATCHES
from tests.kernel.play import Case

SPREAD = "steps: [{id: c, call: {python: f}, retry: {attempts: 3, delay: PT100S, jitter: 0.5}}]"


def due_in(number: str) -> float:
    """Return after how many seconds a case tries again."""
    case = Case(SPREAD, number=number)
    case.refuse("c")
    due = case.wait_of("c", "retry").due_at
    assert due is not None
    return (due - case.now).total_seconds()


def test_jitter_spreads_retries_within_its_part_and_always_alike() -> None:
    found = [due_in(f"case-{number}") for number in range(20)]
    assert all(50 <= one <= 150 for one in found)
    assert len(set(found)) > 15
    assert due_in("case-7") == found[7]


def test_compiler_and_interpreter_agree_on_what_stands_before_and_over_a_body() -> None:
    assert set(GATES) == GATED
    assert set(WATCHES) == WATCHED
