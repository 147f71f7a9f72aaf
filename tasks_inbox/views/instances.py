"""The page of an instance: the sentence first, then what happened, what is known, and where it is."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from engine import access
from engine.forms.values import facts_of
from engine.services.diagrams import inline_diagram
from engine.telling import timeline
from engine.telling.outline import outline_of, steps_by_id
from engine.telling.sentence import sentence_of
from tasks_inbox.authored import began_with, state_of
from tasks_inbox.guard import InboxRequest, inbox_page


@require_GET
@inbox_page
def show(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Show an instance to whoever may see it."""
    actor = request.actor
    instance = access.instance_of(actor, instance_id)
    outline = outline_of(instance.version.canonical, access.step_runs_of(actor, instance.pk))
    steps = steps_by_id(outline)
    tasks = list(instance.tasks.select_related("assignee").order_by("-id"))
    readable = set(access.visible_tasks(actor).filter(instance_id=instance.pk).values_list("pk", flat=True))
    whole = request.GET.get("timeline") == "whole"
    most = timeline.WHOLE if whole else timeline.SHORT
    audit = list(access.history_of(actor, instance.pk).reverse()[: timeline.WHOLE])
    entries = timeline.of_instance(audit, steps, tasks, whole=whole)
    context = {
        "place": "started" if instance.started_by_id == actor.person_id else "team",
        "instance": instance,
        "sentence": sentence_of(instance, instance.waits.all(), tasks, steps, actor.person_id),
        "outline": outline,
        "diagram": inline_diagram(actor, instance),
        "tasks": tasks,
        "readable": readable,
        "to_open": next((task for task in tasks if not task.is_over and task.pk in readable), None),
        "timeline": entries[:most],
        "whole": whole,
        "data": state_of(instance),
        "input": began_with(instance, instance.version),
        "output": facts_of(instance.output),
    }
    return render(request, "inbox/instance.html", context)
