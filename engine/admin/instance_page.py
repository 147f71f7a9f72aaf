"""The page of one instance: a summary, then one tab at a time, with the timeline next to it.

Business data and engine state are separate: Data shows what the author declared, Engine what the engine stores.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest

from engine import access
from engine.admin.descriptions import rows_of_value
from engine.admin.permissions import actor_of
from engine.diagram.step_names import label_of, outcome_text
from engine.errors import Unreadable
from engine.kernel.signals import SignalType
from engine.models import DeadLetter, Effect, Instance, RuntimeState, Signal, SignalReceipt, StepRun, Task
from engine.presentation.narrative import timeline
from engine.presentation.narrative.status_summary import summary_of
from engine.presentation.narrative.step_outline import WORDS, Step, outline_of, steps_by_id
from engine.runtime.claims import read_snapshot
from engine.services.templates.diagrams import inline_diagram
from workflowplatform.accounts.actor import Actor
from workflowplatform.database.stored_json import object_in, objects_in

MOST_RUNS = 200
MOST_CHILDREN = 200
MOST_SIGNALS = 50
MOST_SNAPSHOT = 200_000
"""Characters of a snapshot that a page shows."""

SIGNALS = {
    SignalType.TASK_COMPLETED: "A task was answered",
    SignalType.TIMER_DUE: "A timer is due",
    SignalType.RETRY_DUE: "A retry is due",
    SignalType.CALL_DUE: "A call is due",
    SignalType.EXTERNAL_SIGNAL: "A signal was sent",
    SignalType.SUB_WORKFLOW_COMPLETED: "Another instance ended",
    SignalType.INTERNAL_CONTINUE: "Continue",
}
CALLS = {"intended": "in progress", "succeeded": "succeeded", "failed": "failed", "withdrawn": "withdrawn"}


def instance_context(request: HttpRequest, instance: Instance) -> dict[str, Any]:
    """Return what the page shows, with the queries of one tab only."""
    actor = actor_of(request)
    tasks = list(access.visible_tasks(actor).filter(instance=instance).order_by("-id"))
    runs = access.step_runs_of(actor, instance.pk)
    outline = outline_of(instance.version.canonical, runs.defer("input", "output", "error"))
    steps = steps_by_id(outline)
    waits = list(instance.waits.all())
    whole = request.GET.get("timeline") == "whole"
    chosen = request.GET.get("tab", "")
    tab = chosen if chosen in TABS else next(iter(TABS))
    return {
        "title": str(instance),
        "subtitle": None,
        "wf_instance": instance,
        "wf_sentence": summary_of(instance, waits, tasks, steps, actor.person_id),
        "wf_open_task": next((task for task in tasks if not task.is_over), None),
        "wf_whole": whole,
        "wf_timeline": _timeline(actor, instance, steps, tasks, whole),
        "wf_tabs": _tabs(actor, instance, tasks, tab),
        "wf_tab": tab,
        "wf_tab_page": f"admin/engine/instance/tabs/{tab}.html",
        "wf_facts": rows_of_value(instance.state)[:8],
        "wf_outline": outline,
        "wf_waits": waits,
        "wf_tasks": tasks,
        **TABS[tab](request, actor, instance, steps),
    }


def _timeline(
    actor: Actor, instance: Instance, steps: Mapping[str, Step], tasks: list[Task], whole: bool
) -> list[timeline.Entry]:
    acts = list(access.history_of(actor, instance.pk).reverse()[: timeline.WHOLE])
    most = timeline.WHOLE if whole else timeline.SHORT
    return timeline.of_instance(acts, steps, tasks, whole=whole)[:most]


def _tabs(actor: Actor, instance: Instance, tasks: list[Task], chosen: str) -> list[dict[str, Any]]:
    """List the tabs with their counts."""
    counts = {
        "tasks": len(tasks),
        "signals": Signal.objects.filter(tenant_id=actor.tenant_id, instance=instance).count()
        + DeadLetter.objects.filter(tenant_id=actor.tenant_id, instance=instance).count(),
        "children": access.visible_instances(actor).filter(parent=instance).count() + bool(instance.parent_id),
    }
    return [
        {"name": name, "words": TITLES[name], "count": counts.get(name, 0), "here": name == chosen} for name in TABS
    ]


# One function per tab


def _diagram(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    return {"wf_diagram": inline_diagram(actor, instance)}


def _text(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    return {}


def _steps(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    """Return every run of a step, newest first, with its input, output and error."""
    runs = access.step_runs_of(actor, instance.pk).order_by("-run", "-attempt")
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 18:
        runs = runs.filter(run__lt=int(before))
    listed = list(runs[: MOST_RUNS + 1])
    return {
        "wf_runs": [_run(run, steps) for run in listed[:MOST_RUNS]],
        "wf_earlier": listed[MOST_RUNS - 1].run if len(listed) > MOST_RUNS else None,
    }


def _run(run: StepRun, steps: Mapping[str, Step]) -> dict[str, Any]:
    step = steps.get(run.step)
    error = run.error if isinstance(run.error, dict) else {}
    return {
        "run": run,
        "name": step.name if step else label_of(run.step),
        "words": WORDS[run.status],
        "took": run.ended_at - run.started_at if run.ended_at else None,
        "message": error.get("message", ""),
        "error": rows_of_value(run.error),
        "input": rows_of_value(run.input) or _alone(run.input),
        "output": rows_of_value(run.output) or _alone(run.output),
        "open": run.status in ("failed", "retrying", "timed_out"),
    }


def _alone(value: Any) -> list[tuple[str, Any]]:
    """Return a value that is not an object as one unnamed row."""
    return [] if value in (None, {}, []) else [("", value)]


def _values(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    return {
        "wf_state": rows_of_value(instance.state),
        "wf_input": rows_of_value(instance.input),
        "wf_output": rows_of_value(instance.output),
        "wf_outcome": outcome_text(instance.outcome) if instance.outcome else "",
        "wf_error": rows_of_value(instance.error),
        "wf_reference": instance.reference,
        "wf_reference_parts": rows_of_value(instance.reference_parts),
    }


def _tasks(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    return {}


def _signals(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    """Return the queued and the received signals, and the calls."""
    own = {"tenant_id": actor.tenant_id, "instance": instance}
    queued = Signal.objects.filter(**own).order_by("due_at", "id")[:MOST_SIGNALS]
    receipts = SignalReceipt.objects.filter(**own).order_by("-at")[:MOST_SIGNALS]
    calls = Effect.objects.filter(**own).order_by("-intended_at", "-token")[:MOST_SIGNALS]
    return {
        "wf_queued": [(SIGNALS[SignalType(signal.type)], signal) for signal in queued],
        "wf_letters": access.visible_dead_letters(actor).filter(instance=instance).order_by("-at"),
        "wf_receipts": [(signal_words(receipt.type), receipt) for receipt in receipts],
        "wf_calls": [(_place(call.path), CALLS[call.status], call) for call in calls],
    }


def signal_words(word: str) -> str:
    """Describe a type of signal."""
    return SIGNALS[SignalType(word)] if word in set(SignalType) else label_of(word) or "An unreadable signal"


def _place(path: str) -> str:
    return label_of(path.rsplit("/", 1)[-1])


def _children(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    seen = access.visible_instances(actor)
    return {
        "wf_parent": seen.filter(pk=instance.parent_id).first() if instance.parent_id else None,
        "wf_children": seen.filter(parent=instance).order_by("id")[:MOST_CHILDREN],
    }


def _engine(request: HttpRequest, actor: Actor, instance: Instance, steps: Mapping[str, Step]) -> dict[str, Any]:
    """Return the engine state: versions, next wait, waits with their tokens, frames, snapshot."""
    runtime = RuntimeState.objects.filter(tenant_id=actor.tenant_id, pk=instance.pk).first()
    if runtime is None:
        return {"wf_runtime": None}
    unreadable = ""
    try:
        read_snapshot(runtime.snapshot or {})
    except Unreadable as refusal:
        unreadable = refusal.message
    written = json.dumps(runtime.snapshot, indent=2, ensure_ascii=False)
    return {
        "wf_runtime": runtime,
        "wf_pointer": rows_of_value(runtime.resume_pointer),
        "wf_frames": objects_in(object_in(runtime.snapshot).get("frames")),
        "wf_snapshot": written[:MOST_SNAPSHOT],
        "wf_cut": len(written) > MOST_SNAPSHOT,
        "wf_unreadable": unreadable,
    }


Tab = Callable[[HttpRequest, Actor, Instance, Mapping[str, Step]], dict[str, Any]]
TABS: Mapping[str, Tab] = {
    "diagram": _diagram,
    "text": _text,
    "steps": _steps,
    "values": _values,
    "tasks": _tasks,
    "signals": _signals,
    "children": _children,
    "engine": _engine,
}
TITLES = {
    "diagram": "Diagram",
    "text": "As text",
    "steps": "Step runs",
    "values": "Data",
    "tasks": "Tasks",
    "signals": "Signals",
    "children": "Related",
    "engine": "Engine",
}
