"""What an answer holds that its schema alone cannot judge: files that must be there, values that are not the answerer's."""

from django.utils.translation import gettext as _

from engine.kernel.forms import FieldError
from engine.kernel.signals import Json
from engine.kernel.task_answers import files_named, read_only_kept
from engine.models import Task


def with_read_only(task: Task, values: dict[str, Json]) -> dict[str, Json]:
    """Give read-only values as the task brought them, whatever was sent in their place."""
    return read_only_kept(task.form, task.payload, values)


def missing_files(task: Task, values: Json) -> list[FieldError]:
    """List the values that name a file which nobody added to the task."""
    named = dict(files_named(task.form, values))
    if not named:
        return []
    there = set(task.attachments.values_list("name", flat=True))
    return [
        FieldError(path, "file", _("There is no file called %(name)s here; add it first.") % {"name": name})
        for path, name in named.items()
        if name not in there
    ]
