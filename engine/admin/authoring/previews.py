"""The forms of a version as people see them: the start form and the form of each task."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from engine.admin.authoring.pages import frame
from engine.diagram.step_names import LOOKS, label_of, name_of
from engine.kernel.language.step_lists import all_steps
from engine.models import TemplateVersion
from engine.presentation.forms.form import SchemaForm
from engine.presentation.forms.task_form import TaskForm, comment_rule


def steps_of(version: TemplateVersion) -> list[tuple[str, dict[str, Any]]]:
    """List a version's steps with their kinds."""
    return list(all_steps((version.canonical or {}).get("steps", []), LOOKS))


def forms_page(page: Any, request: HttpRequest, version: TemplateVersion) -> HttpResponse:
    tasks = [step for kind, step in steps_of(version) if kind == "task"]
    canonical = version.canonical or {}
    context = frame(page, request, version, "forms") | {
        "wf_readable": version.canonical is not None,
        "wf_start": SchemaForm(canonical.get("input")),
        "wf_shown": [_shown(place, step) for place, step in enumerate(tasks)],
    }
    return TemplateResponse(request, "admin/authoring/forms.html", context)


def _shown(place: int, step: dict[str, Any]) -> dict[str, Any]:
    task = step["task"]
    outcomes = [{"name": name, **(one or {})} for name, one in _outcomes(task).items()]
    for outcome in outcomes:
        outcome.setdefault("title", label_of(outcome["name"]))
    form = TaskForm(task.get("form"), comment=comment_rule(outcomes, task.get("comment", "optional")))
    form.auto_id = f"id_task{place}_%s"
    return {"name": name_of(step), "step": step["id"], "task": task, "outcomes": outcomes, "form": form}


def _outcomes(task: Mapping[str, Any]) -> dict[str, Any]:
    found = task.get("outcomes") or {"done": {"title": "Done"}}
    if isinstance(found, list):
        return {one["name"] if isinstance(one, dict) else one: one if isinstance(one, dict) else {} for one in found}
    return dict(found)
