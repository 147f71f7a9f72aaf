"""The page of an instance: the sentence first, then where it is, what happened, what is known and what comes next."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import Invalid, NotFound, WorkflowError
from engine.kernel.forms import FieldError
from engine.kernel.transitions import TaskStatus
from engine.models import Instance, Task, Wait
from engine.presentation.forms.values import facts_of
from engine.presentation.narrative import timeline
from engine.presentation.narrative.expected_times import expectation_of
from engine.presentation.narrative.people_names import name_of, said
from engine.presentation.narrative.people_path import stops_of
from engine.presentation.narrative.status_summary import summary_of, who_of, with_reason
from engine.presentation.narrative.step_outline import Step, every_step, outline_of, steps_by_id
from engine.services.insights.durations import usual_times_of
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, retry_step, suspend_instance
from engine.services.instances.requests import (
    CASE_FILES,
    ONCE_IN,
    add_case_file,
    comment_instance,
    last_reminder,
    open_case_file,
    refuse_withdrawing,
    remind_people,
    tasks_waited_for,
    withdraw_instance,
)
from engine.services.tasks.outcome_preview import foresee
from engine.services.templates.diagrams import inline_diagram
from engine.storage.attachments import download, spell_size
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.messages import http_status_of
from tasks_inbox.presenters.field_labels import began_with, input_schema_of, state_of
from tasks_inbox.presenters.files import shown_files
from tasks_inbox.presenters.outcome_preview import coming_of, sentences_of, ways_of
from tasks_inbox.templatetags.look import WORD_OF_STATUS
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MOST_FORESEEN = 3
"""For how many open tasks of one case the page says what comes next."""


@require_GET
@inbox_page
def show(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Show an instance to everyone who may see it."""
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
    schema = input_schema_of(instance.version).get("properties") or {}
    comments = list(access.comments_of_case(actor, instance.pk))
    entries = timeline.of_instance(audit, steps, tasks, whole=whole, comments=comments, asked=schema)
    waits = list(instance.waits.all())
    sentence = with_reason(summary_of(instance, waits, tasks, steps, actor.person_id), instance, audit)
    place = "started" if instance.started_by_id == actor.person_id else "team"
    context = {
        "place": place,
        "back": _back(request, place),
        "instance": instance,
        "sentence": sentence,
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
        "case_files": shown_files(
            access.case_files(actor, instance.pk),
            lambda file: reverse("inbox:case_file", args=[instance.pk, file.pk]),
        ),
        "acts": acts_on(actor, instance),
        "wrong": _wrong(wrong) if wrong else "",
        "wrong_code": wrong.code if wrong else "",
        "files": [(file, spell_size(file.size)) for file in access.files_of_case(actor, instance.pk)],
        "file_types": ",".join(f".{ending}" for ending in CASE_FILES.endings),
    } | _next(actor, tasks, outline)
    if place == "started":
        now = timezone.now()
        usual = usual_times_of(actor=actor, template_id=instance.template_id, now=now)
        context |= _own(actor, instance, tasks) | {
            "stops": stops_of(instance, outline, tasks, actor.name, usual=usual.steps, withdrawn=bool(sentence.word)),
            "start_first": instance.is_over and sentence.tone != "good",
            "expected": expectation_of(instance, waits, tasks, usual, now),
        }
    return render(request, f"inbox/{'request' if place == 'started' else 'instance'}.html", context, status=status)


def _own(actor: Actor, instance: Instance, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return what a person may do with a request of their own."""
    refusal = refuse_withdrawing(actor, instance)
    waited_for = [] if instance.is_over else tasks_waited_for(actor, instance)
    reminded = last_reminder(actor, instance) if waited_for else None
    return {
        "may_withdraw": refusal is None,
        "withdraw_words": _why_not_withdrawn(refusal, instance, tasks) if refusal and not instance.is_over else "",
        "waited_for": ", ".join(dict.fromkeys(who_of(task) for task in waited_for)),
        "reminded_at": reminded if reminded and timezone.now() - reminded < ONCE_IN else None,
        "may_start": any(one.template_id == instance.template_id for one in access.startable_versions(actor)),
    }


def _why_not_withdrawn(refusal: WorkflowError, instance: Instance, tasks: Sequence[Task]) -> str:
    """Name the answer that ended the time for withdrawing; `tasks` are newest first."""
    done = [task for task in tasks if task.status == TaskStatus.COMPLETED and task.completed_at]
    others = [task for task in done if task.completed_by_id != instance.started_by_id]
    if refusal.code != "answered" or not others:
        return refusal.message
    first = min(others, key=lambda task: task.completed_at or instance.updated_at)
    words = {"who": name_of(first.completed_by_name), "task": said(first.title)}
    return _("Can’t be withdrawn: %(who)s answered “%(task)s”.") % words


def _child_waited_for(actor: Actor, instance: Instance, waits: Sequence[Wait]) -> Instance | None:
    """Return the case that this one waits for, where the reader may see it."""
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
        return {"address": reverse("inbox:started"), "word": _("My requests")}
    return {"address": reverse("inbox:mine") + "?view=team", "word": _("Team")}


def _progress(outline: Sequence[Step]) -> dict[str, int]:
    """Count the steps that people would count: those that hold others and those passed by are left out."""
    counted = [step for step in every_step(outline) if not step.branches and step.state != "skipped"]
    return {"done": sum(step.state == "done" for step in counted), "all": len(counted)}


def _next(actor: Actor, tasks: Sequence[Task], outline: Sequence[Step]) -> dict[str, Any]:
    """Describe what comes next: what each answer leads to, and what timers do."""
    waiting = [task for task in tasks if not task.is_over][:MOST_FORESEEN]
    ahead = [(task, foresee(actor=actor, task=task)) for task in waiting]
    ways = [(task, ways_of(task, found.outcomes, outline)) for task, found in ahead]
    coming = [one for _task, found in ahead for one in coming_of(found.timers, outline)]
    return {"ahead": [(task, sentences_of(found)) for task, found in ways if found], "coming": coming}


ACTS: Mapping[str, tuple[tuple[str, ...], Callable[..., Any], Any]] = {
    "retry": (("incident",), retry_step, gettext_lazy("Retried.")),
    "suspend": (
        ("running", "incident"),
        suspend_instance,
        gettext_lazy("Paused. Nothing happens until it is resumed."),
    ),
    "resume": (("suspended",), resume_instance, gettext_lazy("Resumed.")),
    "withdraw": ((), withdraw_instance, gettext_lazy("Withdrawn. Its open tasks were closed.")),
    "cancel": (
        ("queued", "running", "suspended", "incident"),
        cancel_instance,
        gettext_lazy("Withdrawn. Its open tasks were closed."),
    ),
}
"""What may be done to a case as a whole: in which statuses, by which service, and what is said then."""


def acts_on(actor: Actor, instance: Instance) -> list[str]:
    """Name the acts to offer; the services decide."""
    if actor.level < TO_OPERATE:
        return []
    return [name for name, (statuses, _service, _said) in ACTS.items() if instance.status in statuses]


def _wrong(refusal: WorkflowError) -> str:
    """Describe why nothing was done; a case that changed meanwhile is named with its current status."""
    status = str(refusal.facts.get("status", ""))
    if refusal.code != "status" or not status:
        return refusal.message
    words = {"status": WORD_OF_STATUS.get(status, status)}
    return _("This case changed meanwhile and is now %(status)s. Check it, then try again.") % words


@require_POST
@inbox_page
def remind(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Remind the people whom a request of one's own waits for."""
    return _do(request, instance_id, lambda: _remind(request, instance_id))


def _remind(request: InboxRequest, instance_id: UUID) -> None:
    reminded = remind_people(actor=request.actor, instance_id=instance_id)
    people = ", ".join(dict.fromkeys(who_of(task) for task in reminded.tasks))
    toast(request, "instance.reminded", _("%(people)s reminded.") % {"people": people})


@require_POST
@inbox_page
def comment(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Comment for everyone who works on a case."""
    return _do(request, instance_id, lambda: _comment(request, instance_id))


def _comment(request: InboxRequest, instance_id: UUID) -> None:
    comment_instance(actor=request.actor, instance_id=instance_id, text=request.POST.get("text", ""))
    toast(request, "instance.commented", _("Comment added."))


@require_POST
@inbox_page
def add_file(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Add files to a case."""
    return _do(request, instance_id, lambda: _add_files(request, instance_id))


def _add_files(request: InboxRequest, instance_id: UUID) -> None:
    files = request.FILES.getlist("file")
    if not files:
        message = _("Choose a file first.")
        raise Invalid(message, [FieldError("file", "required", message)])
    for file in files:
        add_case_file(actor=request.actor, instance_id=instance_id, name=file.name or "", content=file)
    toast(request, "file.added", _("File added."))


@require_GET
@inbox_page
def fetch(request: InboxRequest, instance_id: UUID, attachment_id: UUID) -> HttpResponseBase:
    """Hand a file of a case over to be saved."""
    file, content = open_case_file(actor=request.actor, instance_id=instance_id, attachment_id=attachment_id)
    return download(file.name, content)


def _do(request: InboxRequest, instance_id: UUID, act_on_it: Callable[[], None]) -> HttpResponse:
    """Do something to a case; what is refused is told on its page."""
    instance = access.instance_of(request.actor, instance_id)
    try:
        act_on_it()
    except NotFound:
        raise
    except WorkflowError as refusal:
        return _page(request, instance, status=http_status_of(refusal), wrong=refusal)
    return redirect("inbox:instance", instance_id=instance_id)


@require_POST
@inbox_page
def act(request: InboxRequest, instance_id: UUID, name: str) -> HttpResponse:
    """Do something to a case as a whole; what is refused is told on its page."""
    if name not in ACTS:
        raise NotFound
    _statuses, service, words = ACTS[name]

    def done() -> None:
        service(actor=request.actor, instance_id=instance_id, reason=posted_line(request, "reason"))
        toast(request, f"instance.{name}", str(words))

    return _do(request, instance_id, done)
