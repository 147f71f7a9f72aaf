"""`next` in durable cases: passes are kept apart in rows, keys and history."""

from django.core.management import call_command

from engine.dispatch.drain import drain
from engine.models import Task
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import activated, only_task, started

REWORK = """\
workflow: rework
steps:
  - {id: write, task: {title: Write}}
  - {id: file, call: {python: {function: echo, args: {n: 1}}}}
  - {id: check, task: {title: Check, outcomes: [good, again]}, next: [{to: write, when: result.check.outcome == 'again'}]}
"""


def test_every_pass_has_rows_keys_and_a_history_of_its_own(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, REWORK)
    instance = started(gwen, "rework")
    for outcome in ("again", "good"):
        complete_task(actor=gwen, task_id=only_task(instance).pk, outcome="done", values={})
        drain()
        complete_task(actor=gwen, task_id=only_task(instance).pk, outcome=outcome, values={})
    instance.refresh_from_db()
    assert instance.status == "completed"
    tasks = Task.objects.filter(instance=instance).order_by("token").values_list("step", "iteration")
    assert list(tasks) == [("write", ""), ("check", ""), ("write", "#2"), ("check", "#2")]
    runs = list(instance.step_runs.values_list("step", "iteration", "attempt"))
    assert len(runs) == len(set(runs)) == 6
    keys = list(instance.effects.values_list("key", flat=True))
    assert len(keys) == len(set(keys)) == 2
    call_command("verify_audit", fold=True)
