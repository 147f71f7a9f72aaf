"""A tenant in the middle of its work: templates in every status and one running case, for tests that only look."""

from __future__ import annotations

from dataclasses import dataclass

from engine.models import Task
from engine.services.templates import save_draft
from tests.cast import Cast
from tests.workflows import APPROVAL, TWO_TASKS, activated, only_task, started

DRAFT = "workflow: idea\ntitle: Idea\nsteps:\n  - id: note\n    set: {noted: true}\n"


@dataclass(frozen=True)
class Scene:
    """Ids that the routes need."""

    instance: str
    task: str


def set_scene(cast: Cast) -> Scene:
    """Let Uri start an approval that Ada may take, and leave a draft lying about."""
    gwen = cast.actor("gwen")
    activated(gwen, APPROVAL)
    activated(gwen, TWO_TASKS)
    save_draft(actor=gwen, source=DRAFT)
    instance = started(cast.actor("uri"), "approval", amount=12)
    return Scene(str(instance.pk), str(only_task(instance).pk))


def open_task_ids() -> set[str]:
    """Return the ids of all open tasks of everybody."""
    return {str(pk) for pk in Task.objects.open().values_list("pk", flat=True)}
