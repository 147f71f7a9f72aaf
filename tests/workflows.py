"""Small workflows that tests share, and the few words to bring them to life."""

from datetime import datetime
from typing import Any

from engine.dispatch.drain import drain
from engine.kernel.effects import PRIORITIES
from engine.models import DeadLetter, Instance, RuntimeState, Signal, Task, TaskCandidate, TemplateVersion
from engine.models.base import NEVER
from engine.services.instances.lifecycle import start_instance
from engine.services.templates.versions import activate_version, save_draft
from workflowplatform.accounts.actor import Actor

APPROVAL = """
workflow: approval
title: Approval
starters: {min_level: 2}
input:
  type: object
  required: [amount]
  properties:
    amount: {type: number, title: Amount, exclusiveMinimum: 0}
reference: {key: "${'APP-' + string(start.amount)}"}
steps:
  - id: review
    task:
      title: "Review ${start.amount}"
      roles: [finance]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
      comment: on_reject
      form: {type: object, required: [note], properties: {note: {type: string, title: Note}}}
      not_same_as: [start]
  - id: decide
    if: result.review.outcome == 'approve'
    then:
      - id: mark
        set: {approved: true}
    else:
      - id: unmark
        set: {approved: false}
"""

TIMER = """
workflow: timer
title: Timer
steps:
  - id: pause
    wait: {for: PT0.2S}
  - id: after
    set: {done: true}
"""

CALL = """
workflow: call
title: Call
input: {type: object, properties: {word: {type: string}}}
steps:
  - id: ask
    call: {python: {function: echo, args: {word: "${start.word}"}}}
  - id: keep
    set: {heard: "${result.ask.word}"}
"""

RETRIED = """
workflow: retried
title: Retried
steps:
  - id: ask
    call: {python: {function: test_flaky, args: {}}}
    retry: {attempts: 3, delay: PT0.1S}
  - id: keep
    set: {done: true}
"""

TWO_TASKS = """
workflow: two
title: Two tasks
steps:
  - id: first
    task: {title: First}
  - id: second
    task: {title: Second, roles: [support]}
"""


def activated(actor: Actor, source: str) -> TemplateVersion:
    """Save and activate a document as its author would."""
    draft = save_draft(actor=actor, source=source)
    return activate_version(actor=actor, name=draft.template.name, number=draft.number)


def started(actor: Actor, template: str, **values: Any) -> Instance:
    """Start an instance and return it as it is at its first wait."""
    return start_instance(actor=actor, template=template, input=values).instance


def only_task(instance: Instance) -> Task:
    """Return the one open task of an instance."""
    return Task.objects.open().get(instance=instance)


def fall_due(instance: Instance) -> Instance:
    """Let the timers of an instance be due now, however quick the machine is."""
    Signal.objects.filter(instance=instance).update(due_at=instance.started_at)
    return instance


def left_dead(instance: Instance) -> DeadLetter:
    """Let what is due of an instance become a dead letter: its snapshot cannot be read for a while."""
    state = RuntimeState.objects.filter(instance=instance)
    snapshot = state.get().snapshot
    state.update(snapshot={"engineSchemaVersion": 999})
    drain()
    state.update(snapshot=snapshot)
    return DeadLetter.objects.get(instance=instance)


def hurried(task: Task, *, priority: int | None = None, due_at: datetime | None = None) -> None:
    """Give a task another priority and due date, as an escalation does: its offers follow."""
    task.priority, task.due_at = task.priority if priority is None else priority, due_at
    task.save(update_fields=["priority", "due_at"])
    rank = len(PRIORITIES) - task.priority
    TaskCandidate.objects.filter(task_id=task.pk).update(rank=rank, due_at=due_at or NEVER)
