"""Status tables: complete, closed, and drawn in the documentation as they are."""

from engine.kernel.transitions import (
    INSTANCE_MOVES,
    RESULT_OF,
    STEP_MOVES,
    TASK_MOVES,
    VERSION_MOVES,
    InstanceStatus,
    StepStatus,
    TaskStatus,
    VersionStatus,
)
from tests.kernel.state_machines import PAGE, written


def test_every_status_has_its_row() -> None:
    pairs = ((VERSION_MOVES, VersionStatus), (INSTANCE_MOVES, InstanceStatus), (STEP_MOVES, StepStatus))
    for moves, statuses in (*pairs, (TASK_MOVES, TaskStatus)):
        assert set(moves) == set(statuses)
        assert all(follower in moves for followers in moves.values() for follower in followers)
    assert set(RESULT_OF) == set(InstanceStatus)


def test_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text() == written(), "run: python -m tests.kernel.state_machines"
