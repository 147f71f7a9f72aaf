"""Actions of an operator on one instance, task or dead letter: each asks for what its service needs and reports what it did."""

import json
from typing import Any

from django.http import HttpRequest

from engine import access
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button, Question, Result
from engine.diagram.step_names import label_of
from engine.errors import Invalid
from engine.kernel.transitions import InstanceStatus
from engine.models import DeadLetter, Instance, Task
from engine.services.instances import repair as operations
from engine.services.instances import signals
from engine.services.instances.lifecycle import cancel_instance
from engine.services.tasks.redo import can_redo, redo_task
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE


def read_json(text: str, empty: Any) -> Any:
    """Read JSON from a text field; an empty field gives `empty`."""
    if not text.strip():
        return empty
    try:
        return json.loads(text)
    except ValueError as error:
        raise Invalid(f"This is not valid JSON: {error}. Nothing was changed.", code="json") from error


def reason_in(request: HttpRequest) -> str:
    return request.POST.get("reason", "").replace("\0", "").strip()[:500]


def is_live(actor: Actor, instance: Instance) -> bool:
    return not instance.is_over


def can_be_suspended(actor: Actor, instance: Instance) -> bool:
    return instance.status in (InstanceStatus.RUNNING, InstanceStatus.INCIDENT)


def is_suspended(actor: Actor, instance: Instance) -> bool:
    return instance.status == InstanceStatus.SUSPENDED


def has_incident(actor: Actor, instance: Instance) -> bool:
    return instance.status == InstanceStatus.INCIDENT


def cancel(request: HttpRequest, instance: Instance) -> str:
    cancel_instance(actor=actor_of(request), instance_id=instance.pk, reason=request.POST.get("answer", ""))
    return f"{instance} was cancelled, and its open tasks were withdrawn."


def suspend(request: HttpRequest, instance: Instance) -> str:
    operations.suspend_instance(actor=actor_of(request), instance_id=instance.pk, reason=request.POST.get("answer", ""))
    return f"{instance} is suspended. Timers that end meanwhile take effect when you resume it."


def resume(request: HttpRequest, instance: Instance) -> str:
    operations.resume_instance(actor=actor_of(request), instance_id=instance.pk, reason=reason_in(request))
    return f"{instance} was resumed. Timers that ended meanwhile take effect now."


def retry(request: HttpRequest, instance: Instance) -> str:
    given = read_json(request.POST.get("input", ""), None)
    operations.retry_step(actor=actor_of(request), instance_id=instance.pk, input=given, reason=reason_in(request))
    return f"The failed step of {instance} is being retried."


def skip(request: HttpRequest, instance: Instance) -> str:
    output = read_json(request.POST.get("output", ""), None)
    reason = request.POST.get("answer", "")
    operations.skip_step(actor=actor_of(request), instance_id=instance.pk, reason=reason, output=output)
    return f"The failed step of {instance} was skipped."


def send_signal(request: HttpRequest, instance: Instance) -> Result:
    payload = read_json(request.POST.get("payload", ""), None)
    name = request.POST.get("answer", "")
    sent = signals.send_signal(
        actor=actor_of(request), instance_id=instance.pk, name=name, payload=payload, reason=reason_in(request)
    )
    if sent.delivered:
        return Result("delivered", f"{instance} received the signal “{name}”.")
    if sent.kept:
        return Result("kept", f"The signal “{name}” is kept until {instance} waits for it.")
    return Result("ignored", f"{instance} does not wait for “{name}”; the signal was ignored.")


def redo(request: HttpRequest, task: Task) -> str:
    redo_task(actor=actor_of(request), task_id=task.pk, reason=reason_in(request))
    return f"{task} is open again."


def replay(request: HttpRequest, letter: DeadLetter) -> str:
    operations.replay_dead_letter(actor=actor_of(request), letter_id=letter.pk, reason=reason_in(request))
    return "The signal was put back into the queue."


def discard(request: HttpRequest, letter: DeadLetter) -> str:
    operations.discard_dead_letter(actor=actor_of(request), letter_id=letter.pk, reason=request.POST.get("answer", ""))
    return "The signal was discarded. Its instance still has an incident: retry, skip or cancel it."


def after_cancelling(actor: Actor, instance: Instance) -> str:
    tasks = access.tasks_team(actor).filter(instance=instance).count()
    children = access.visible_instances(actor).live().filter(parent=instance, parent_token__isnull=False).count()
    goes = [
        counted(tasks, "open task is withdrawn", "open tasks are withdrawn"),
        counted(children, "instance that it started is cancelled too", "instances that it started are cancelled too"),
    ]
    return " ".join([*(f"{words}." for words in goes if words), "This cannot be undone."])


def counted(count: int, one: str, many: str) -> str:
    """Return a count with its words, or nothing for zero."""
    return f"{count} {one if count == 1 else many}" if count else ""


def failure_of(instance: Instance) -> str:
    """Name the failed step and its error."""
    error = instance.error if isinstance(instance.error, dict) else {}
    step = label_of(str(error.get("step") or "")) or "The step"
    return f"{step} failed: {error.get('message') or 'no details are known.'}"


def after_retrying(actor: Actor, instance: Instance) -> str:
    return f"{failure_of(instance)} The step runs again."


def after_skipping(actor: Actor, instance: Instance) -> str:
    return f"{failure_of(instance)} The step counts as done, and the instance continues after it."


def after_suspending(actor: Actor, instance: Instance) -> str:
    tasks = access.tasks_team(actor).filter(instance=instance).count()
    held = counted(tasks, "open task cannot be answered", "open tasks cannot be answered")
    return "Nothing happens until you resume it; its timers keep running." + (f" {held} meanwhile." if held else "")


def awaited_signals(actor: Actor, instance: Instance) -> str:
    names = sorted({wait.name for wait in instance.waits.all() if wait.kind == "signal" and wait.name})
    if not names:
        return "It does not wait for a signal now. A signal that a later step waits for is kept."
    return f"It waits for {' and '.join(f'“{name}”' for name in names)}."


OUTPUT = Question("output", "Output to use instead (JSON)", "Later steps read it as the step's result.", long=True)
INPUT = Question("input", "Another input (JSON)", "Leave it empty to use the same input again.", long=True)
REASON = Question("reason", "Reason", "Optional; kept in the history.")
PAYLOAD = Question("payload", "Payload (JSON)", long=True)

OF_INSTANCES = (
    Button(
        "cancel",
        "Cancel",
        cancel,
        TO_OPERATE,
        is_live,
        danger=True,
        asks="Reason to cancel",
        preview=after_cancelling,
    ),
    Button(
        "suspend",
        "Suspend",
        suspend,
        TO_OPERATE,
        can_be_suspended,
        asks="Reason",
        preview=after_suspending,
    ),
    Button(
        "resume",
        "Resume",
        resume,
        TO_OPERATE,
        is_suspended,
        primary=True,
        more=(REASON,),
        preview="It continues. Timers that ended meanwhile take effect now.",
    ),
    Button(
        "retry", "Retry", retry, TO_OPERATE, has_incident, primary=True, more=(REASON, INPUT), preview=after_retrying
    ),
    Button(
        "skip",
        "Skip",
        skip,
        TO_OPERATE,
        has_incident,
        asks="Reason to skip",
        more=(OUTPUT,),
        preview=after_skipping,
    ),
    Button(
        "signal",
        "Send a signal",
        send_signal,
        TO_OPERATE,
        is_live,
        asks="Name of the signal",
        more=(PAYLOAD, REASON),
        preview=awaited_signals,
    ),
)
OF_TASKS = (
    Button(
        "redo",
        "Do again",
        redo,
        TO_OPERATE,
        can_redo,
        more=(REASON,),
        preview="The task is opened anew with its answer filled in. What began behind it is withdrawn and done anew.",
    ),
)
OF_LETTERS = (
    Button(
        "discard",
        "Discard",
        discard,
        TO_OPERATE,
        danger=True,
        asks="Reason to discard",
        preview="The signal is discarded. Its instance keeps the incident until you retry, skip or cancel it.",
    ),
    Button(
        "replay",
        "Replay",
        replay,
        TO_OPERATE,
        primary=True,
        more=(REASON,),
        preview="The signal returns to the queue with all its attempts, and its instance continues.",
    ),
)
