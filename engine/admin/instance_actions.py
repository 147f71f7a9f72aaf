"""Acts of an operator on one instance: each asks for what its service needs, and says in a sentence what it did."""

import json
from typing import Any

from django.http import HttpRequest

from engine import access
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button, Question
from engine.diagram.step_names import label_of
from engine.errors import Invalid
from engine.kernel.transitions import InstanceStatus
from engine.models import DeadLetter, Instance
from engine.services.instances import repair as operations
from engine.services.instances import signals
from engine.services.instances.lifecycle import cancel_instance
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

HELD_BACK = (InstanceStatus.RUNNING, InstanceStatus.INCIDENT)


def read_json(text: str, empty: Any) -> Any:
    """Read what was typed as JSON; nothing typed is nothing given."""
    if not text.strip():
        return empty
    try:
        return json.loads(text)
    except ValueError as error:
        raise Invalid(f"That is no JSON: {error}. Nothing was changed.", []) from error


def reason_in(request: HttpRequest) -> str:
    """Read the reason that was typed, if any."""
    return request.POST.get("reason", "").replace("\0", "").strip()[:500]


def is_live(actor: Actor, instance: Instance) -> bool:
    """Offer it while the instance has not ended."""
    return not instance.is_over


def can_stand_still(actor: Actor, instance: Instance) -> bool:
    """Offer it while something might happen."""
    return instance.status in HELD_BACK


def stands_still(actor: Actor, instance: Instance) -> bool:
    """Offer it to what was suspended."""
    return instance.status == InstanceStatus.SUSPENDED


def has_incident(actor: Actor, instance: Instance) -> bool:
    """Offer it where a step failed unforeseen."""
    return instance.status == InstanceStatus.INCIDENT


def cancel(request: HttpRequest, instance: Instance) -> str:
    """End an instance by hand, with the reason given."""
    cancel_instance(actor=actor_of(request), instance_id=instance.pk, reason=request.POST.get("answer", ""))
    return f"{instance} is cancelled; its open tasks are withdrawn."


def suspend(request: HttpRequest, instance: Instance) -> str:
    """Let nothing happen to an instance for a while."""
    operations.suspend_instance(actor=actor_of(request), instance_id=instance.pk, reason=request.POST.get("answer", ""))
    return f"{instance} stands still. What falls due waits until you resume it."


def resume(request: HttpRequest, instance: Instance) -> str:
    """Let an instance go on."""
    operations.resume_instance(actor=actor_of(request), instance_id=instance.pk, reason=reason_in(request))
    return f"{instance} goes on; what fell due meanwhile is delivered now."


def retry(request: HttpRequest, instance: Instance) -> str:
    """Run the failed step again, with another input if one was typed."""
    given = read_json(request.POST.get("input", ""), None)
    operations.retry_step(actor=actor_of(request), instance_id=instance.pk, input=given, reason=reason_in(request))
    return f"The failed step of {instance} runs again."


def skip(request: HttpRequest, instance: Instance) -> str:
    """Pass over the failed step."""
    output = read_json(request.POST.get("output", ""), None)
    reason = request.POST.get("answer", "")
    operations.skip_step(actor=actor_of(request), instance_id=instance.pk, reason=reason, output=output)
    return f"The failed step of {instance} is passed over."


def tell(request: HttpRequest, instance: Instance) -> str:
    """Send a named signal to an instance."""
    payload = read_json(request.POST.get("payload", ""), None)
    name = request.POST.get("answer", "")
    sent = signals.send_signal(
        actor=actor_of(request), instance_id=instance.pk, name=name, payload=payload, reason=reason_in(request)
    )
    if sent.delivered:
        return f"{instance} took the signal “{name}”."
    return (
        f"The signal “{name}” is kept until {instance} waits for it." if sent.kept else f"Nobody waited for “{name}”."
    )


def replay(request: HttpRequest, letter: DeadLetter) -> str:
    """Put a dead letter back into the queue."""
    operations.replay_dead_letter(actor=actor_of(request), letter_id=letter.pk, reason=reason_in(request))
    return "The signal is back in the queue."


def discard(request: HttpRequest, letter: DeadLetter) -> str:
    """Give a dead letter up."""
    operations.discard_dead_letter(actor=actor_of(request), letter_id=letter.pk, reason=request.POST.get("answer", ""))
    return "The signal is given up. Its instance still waits for your decision: retry, skip or cancel it."


def after_cancelling(actor: Actor, instance: Instance) -> str:
    """Say what goes with a cancelled instance."""
    tasks = access.tasks_team(actor).filter(instance=instance).count()
    children = access.visible_instances(actor).live().filter(parent=instance, parent_token__isnull=False).count()
    goes = [
        counted(tasks, "open task is withdrawn", "open tasks are withdrawn"),
        counted(children, "workflow that it started is cancelled too", "workflows that it started are cancelled too"),
    ]
    return " ".join([*(f"{words}." for words in goes if words), "Its timers end. This cannot be undone."])


def counted(count: int, one: str, many: str) -> str:
    """Say how many, or nothing where there are none."""
    return f"{count} {one if count == 1 else many}" if count else ""


def failure_of(instance: Instance) -> str:
    """Say which step failed and how."""
    error = instance.error if isinstance(instance.error, dict) else {}
    step = label_of(str(error.get("step") or "")) or "The step"
    return f"{step} failed: {error.get('message') or 'nothing more is known.'}"


def after_retrying(actor: Actor, instance: Instance) -> str:
    """Say what is tried again."""
    return f"{failure_of(instance)} It runs again, from where it stands."


def after_skipping(actor: Actor, instance: Instance) -> str:
    """Say what is passed over."""
    return f"{failure_of(instance)} It counts as done, and the flow goes on after it."


def after_suspending(actor: Actor, instance: Instance) -> str:
    """Say what stands still."""
    tasks = access.tasks_team(actor).filter(instance=instance).count()
    held = counted(tasks, "open task cannot be answered", "open tasks cannot be answered")
    return " ".join(
        ["It stands still until it is resumed; its timers keep their time.", *([f"{held} meanwhile."] if held else [])]
    )


def awaited_signals(actor: Actor, instance: Instance) -> str:
    """Say for which signals it waits."""
    names = sorted({wait.name for wait in instance.waits.all() if wait.kind == "signal" and wait.name})  # type: ignore[attr-defined]
    if not names:
        return "It waits for no signal now; one that a later step takes is kept for it."
    return f"It waits for {' and '.join(f'“{name}”' for name in names)}."


OUTPUT = Question("output", "What it gives instead (JSON)", "Later steps read it as the step's result.", long=True)
INPUT = Question("input", "With another input (JSON)", "Leave it empty to try what was tried before.", long=True)
REASON = Question("reason", "Reason", "Optional; it is kept in the history.")
PAYLOAD = Question("payload", "What it carries (JSON)", long=True)

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
        can_stand_still,
        asks="Reason",
        preview=after_suspending,
    ),
    Button(
        "resume",
        "Resume",
        resume,
        TO_OPERATE,
        stands_still,
        primary=True,
        more=(REASON,),
        preview="It goes on; what fell due meanwhile is delivered now.",
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
        "tell",
        "Send a signal",
        tell,
        TO_OPERATE,
        is_live,
        asks="Name of the signal",
        more=(PAYLOAD, REASON),
        preview=awaited_signals,
    ),
)
OF_LETTERS = (
    Button(
        "discard",
        "Discard",
        discard,
        TO_OPERATE,
        danger=True,
        asks="Reason to give it up",
        preview="The signal is given up. Its instance stays an incident until you retry, skip or cancel it.",
    ),
    Button(
        "replay",
        "Replay",
        replay,
        TO_OPERATE,
        primary=True,
        more=(REASON,),
        preview="The signal goes back into the queue with fresh attempts, and its instance goes on.",
    ),
)
