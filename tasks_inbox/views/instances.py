"""The page of an instance: the sentence first, then where it is, what happened, what is known and what comes next."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import NotFound, WorkflowError
from engine.models import Instance, Task, Wait
from engine.presentation.forms.values import facts_of
from engine.presentation.narrative import timeline
from engine.presentation.narrative.status_summary import sentence_of, with_reason
from engine.presentation.narrative.step_outline import Step, every_step, outline_of, steps_by_id
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, retry_step, suspend_instance
from engine.services.tasks.outcome_preview import foresee
from engine.services.templates.diagrams import inline_diagram
from tasks_inbox.decorators import InboxRequest, inbox_page, said
from tasks_inbox.messages import http_status_of
from tasks_inbox.presenters.field_labels import began_with, state_of
from tasks_inbox.presenters.outcome_preview import coming_of, sentences_of, ways_of
from tasks_inbox.templatetags.look import WORD_OF_STATUS
from tasks_inbox.toasts import toast
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MOST_FORESEEN = 3
"""For how many open tasks of one case the page says what comes next."""


@require_GET
@inbox_page
def show(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Show an instance to whoever may see it."""
    return _page(request, access.instance_of(request.actor, instance_id))


def _page(
    request: InboxRequest, instance: Instance, *, status: int = 200, wrong: WorkflowError | None = None
) -> HttpResponse:
    actor = request.actor
    outline = outline_of(instance.version.canonical, access.step_runs_of(actor, instance.pk))
    steps = steps_by_id(outline)
    tasks = list(instance.tasks.select_related("assignee").order_by("-id"))
    readable = set(access.visible_tasks(actor).filter(instance_id=instance.pk).values_list("pk", flat=True))
    whole = request.GET.get("timeline") == "whole"
    most = timeline.WHOLE if whole else timeline.SHORT
    audit = list(access.history_of(actor, instance.pk).reverse()[: timeline.WHOLE])
    entries = timeline.of_instance(audit, steps, tasks, whole=whole)
    waits = list(instance.waits.all())
    place = "started" if instance.started_by_id == actor.person_id else "team"
    context = {
        "place": place,
        "back": _back(request, place),
        "instance": instance,
        "sentence": with_reason(sentence_of(instance, waits, tasks, steps, actor.person_id), audit),
        "outline": outline,
        "progress": _progress(outline),
        "diagram": inline_diagram(actor, instance),
        "tasks": tasks,
        "readable": readable,
        "to_open": next((task for task in tasks if not task.is_over and task.pk in readable), None),
        "child": _child_waited_for(actor, instance, waits),
        "timeline": entries[:most],
        "whole": whole,
        "data": state_of(instance),
        "input": began_with(instance, instance.version),
        "output": facts_of(instance.output),
        "acts": acts_on(actor, instance),
        "wrong": _wrong(wrong) if wrong else "",
        "wrong_code": wrong.code if wrong else "",
    } | _next(actor, tasks, outline)
    return render(request, "inbox/instance.html", context, status=status)


def _child_waited_for(actor: Actor, instance: Instance, waits: Sequence[Wait]) -> Instance | None:
    """Give the case that this one waits for, where the reader may see it."""
    if not any(wait.kind == "child" for wait in waits):
        return None
    open_ones = access.visible_instances(actor).filter(parent=instance, result="in_progress")
    return open_ones.order_by("pk").first()


def _back(request: InboxRequest, place: str) -> dict[str, str]:
    """Lead back to the task that one came from, else to the list where one finds this case."""
    before = urlsplit(request.headers.get("Referer", ""))
    if before.netloc == request.get_host() and before.path.startswith(reverse("inbox:mine") + "tasks/"):
        return {"address": f"{before.path}?{before.query}", "word": _("Back to the task")}
    if place == "started":
        return {"address": reverse("inbox:started"), "word": _("Started by me")}
    return {"address": reverse("inbox:mine") + "?view=team", "word": _("Team")}


def _progress(outline: Sequence[Step]) -> dict[str, int]:
    """Count the steps that people would count: those that hold others and those passed by are left out."""
    counted = [step for step in every_step(outline) if not step.branches and step.state != "skipped"]
    return {"done": sum(step.state == "done" for step in counted), "all": len(counted)}


def _next(actor: Actor, tasks: Sequence[Task], outline: Sequence[Step]) -> dict[str, Any]:
    """Say what comes next: what each answer leads to, and what time brings."""
    waiting = [task for task in tasks if not task.is_over][:MOST_FORESEEN]
    ahead = [(task, foresee(actor=actor, task=task)) for task in waiting]
    ways = [(task, ways_of(task, found.outcomes, outline)) for task, found in ahead]
    coming = [one for _task, found in ahead for one in coming_of(found.timers, outline)]
    return {"ahead": [(task, sentences_of(found)) for task, found in ways if found], "coming": coming}


ACTS: Mapping[str, tuple[tuple[str, ...], Callable[..., Any], Any]] = {
    "retry": (("incident",), retry_step, gettext_lazy("Tried again.")),
    "suspend": (
        ("running", "incident"),
        suspend_instance,
        gettext_lazy("Suspended. Nothing happens until it is resumed."),
    ),
    "resume": (("suspended",), resume_instance, gettext_lazy("Resumed.")),
    "cancel": (
        ("queued", "running", "suspended", "incident"),
        cancel_instance,
        gettext_lazy("Cancelled. Its open tasks are withdrawn."),
    ),
}
"""What may be done to a case as a whole: in which statuses, by which service, and what is said then."""


def acts_on(actor: Actor, instance: Instance) -> list[str]:
    """Name the acts to offer; the services decide."""
    if actor.level < TO_OPERATE:
        return []
    return [name for name, (statuses, _service, _said) in ACTS.items() if instance.status in statuses]


def _wrong(refusal: WorkflowError) -> str:
    """Say why nothing was done; a case that went on meanwhile is named as it stands now."""
    status = str(refusal.facts.get("status", ""))
    if refusal.code != "status" or not status:
        return refusal.message
    words = {"status": WORD_OF_STATUS.get(status, status)}
    return _("This case is in another status by now: %(status)s. Look again before you act.") % words


@require_POST
@inbox_page
def act(request: InboxRequest, instance_id: UUID, name: str) -> HttpResponse:
    """Do something to a case as a whole; what is refused is told on its page."""
    instance = access.instance_of(request.actor, instance_id)
    if name not in ACTS:
        raise NotFound
    _statuses, service, words = ACTS[name]
    try:
        service(actor=request.actor, instance_id=instance_id, reason=said(request, "reason"))
    except NotFound:
        raise
    except WorkflowError as refusal:
        return _page(request, instance, status=http_status_of(refusal), wrong=refusal)
    toast(request, f"instance.{name}", str(words))
    return redirect("inbox:instance", instance_id=instance_id)
