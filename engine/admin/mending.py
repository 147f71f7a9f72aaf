"""Acts of an operator on one instance: each asks for what its service needs, and says in a sentence what it did."""

import json
from typing import Any

from django.http import HttpRequest

from engine.admin.buttons import Button, Question
from engine.admin.rights import actor_of
from engine.errors import Invalid
from engine.kernel.transitions import InstanceStatus
from engine.models import DeadLetter, Instance
from engine.services import operations, signals
from engine.services.instances import cancel_instance
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
    operations.resume_instance(actor=actor_of(request), instance_id=instance.pk)
    return f"{instance} goes on; what fell due meanwhile is delivered now."


def retry(request: HttpRequest, instance: Instance) -> str:
    """Run the failed step again, with another input if one was typed."""
    given = read_json(request.POST.get("input", ""), None)
    operations.retry_step(actor=actor_of(request), instance_id=instance.pk, input=given)
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
    sent = signals.send_signal(actor=actor_of(request), instance_id=instance.pk, name=name, payload=payload)
    if sent.delivered:
        return f"{instance} took the signal “{name}”."
    return (
        f"The signal “{name}” is kept until {instance} waits for it." if sent.kept else f"Nobody waited for “{name}”."
    )


def replay(request: HttpRequest, letter: DeadLetter) -> str:
    """Put a dead letter back into the queue."""
    operations.replay_dead_letter(actor=actor_of(request), letter_id=letter.pk)
    return "The signal is back in the queue."


def discard(request: HttpRequest, letter: DeadLetter) -> str:
    """Give a dead letter up."""
    operations.discard_dead_letter(actor=actor_of(request), letter_id=letter.pk, reason=request.POST.get("answer", ""))
    return "The signal is given up. Its instance still waits for your decision: retry, skip or cancel it."


OUTPUT = Question("output", "What it gives instead (JSON)", "Later steps read it as the step's result.", long=True)
INPUT = Question("input", "With another input (JSON)", "Leave it empty to try what was tried before.", long=True)
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
        preview="Everything open is withdrawn: tasks, timers and other workflows that it started. This cannot be undone.",
    ),
    Button(
        "suspend",
        "Suspend",
        suspend,
        TO_OPERATE,
        can_stand_still,
        asks="Reason",
        preview="It stands still until resumed.",
    ),
    Button("resume", "Resume", resume, TO_OPERATE, stands_still),
    Button(
        "retry", "Retry", retry, TO_OPERATE, has_incident, more=(INPUT,), preview="The step that failed runs again."
    ),
    Button(
        "skip",
        "Skip",
        skip,
        TO_OPERATE,
        has_incident,
        asks="Reason to skip",
        more=(OUTPUT,),
        preview="The step that failed counts as done, and the flow goes on after it.",
    ),
    Button("tell", "Send a signal", tell, TO_OPERATE, is_live, asks="Name of the signal", more=(PAYLOAD,)),
)
OF_LETTERS = (
    Button("discard", "Discard", discard, TO_OPERATE, danger=True, asks="Reason to give it up"),
    Button("replay", "Replay", replay, TO_OPERATE),
)
