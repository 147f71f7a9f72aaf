"""Check `allow: [redo]`: a task can be done again only while its own list runs on behind it."""

from engine.kernel.language.reading.nodes import Outline, Reading
from engine.kernel.language.validation.paths import is_line, siblings

HINT = "let another step follow it in the same list, or leave `redo` out"


def check_redo(reading: Reading) -> None:
    """Refuse `redo` where no moment would ever allow it."""
    for steps in siblings(reading).values():
        for place, step in enumerate(steps):
            if _asks(step) and (place + 1 == len(steps) or not is_line(reading, step)):
                text = f"`{step.id}` could never be done again: nothing follows it in its list of steps"
                reading.error(step.node, "redo_never", text, step.path, HINT)


def _asks(step: Outline) -> bool:
    task = step.spec.get("task")
    return isinstance(task, dict) and "redo" in (task.get("allow") or ())
