"""Find the answer that turned a request down."""

from collections.abc import Iterable

from engine.diagram.step_names import turns_down
from engine.kernel.transitions import TaskStatus
from engine.models import Instance, Task


def rejection_of(instance: Instance, tasks: Iterable[Task]) -> Task | None:
    """Return the task whose answer rejected a case that ended by it: its last answer, or one that its end confirms."""
    if instance.status != "completed":
        return None
    answered = sorted((task for task in tasks if task.status == TaskStatus.COMPLETED), key=_answered_at)
    rejecting = [task for task in answered if (task.outcome_named(task.outcome or "") or {}).get("reject")]
    is_last = bool(rejecting) and rejecting[-1] is answered[-1]
    return rejecting[-1] if rejecting and (is_last or turns_down(instance.outcome)) else None


def _answered_at(task: Task) -> tuple[float, int]:
    return task.completed_at.timestamp() if task.completed_at else 0.0, task.token
