"""Instances that ran before the platform kept who took part: the migration says it from their task events."""

from importlib import import_module

import pytest
from django.db import connection

from engine.errors import WorkflowError
from engine.models import RuntimeState, Task
from engine.services.instances.lifecycle import start_instance
from engine.services.people.accounts import create_person
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import activated

ROUNDS = """
workflow: rounds
steps:
  - repeat: {times: 2, steps: [{id: x, task: {title: X, roles: [finance]}}]}
  - {id: y, task: {title: Y, roles: [finance], not_same_as: [x]}}
"""


def test_who_did_an_earlier_round_before_the_upgrade_is_barred_after_it(cast: Cast) -> None:
    create_person(actor=None, tenant=cast.acme, name="fay", level=4, roles=("finance",), email="fay@acme.example")
    activated(cast.actor("gwen"), ROUNDS)
    instance = start_instance(actor=cast.actor("gwen"), template="rounds", input={}).instance
    for name in ("ada", "fay"):
        complete_task(actor=cast.actor(name), task_id=Task.objects.open().get().pk)
    state = RuntimeState.objects.get(pk=instance.pk)
    kept = state.snapshot.pop("people")
    state.save(update_fields=["snapshot"])
    with connection.cursor() as cursor:
        cursor.execute(import_module("engine.migrations.0029_four_eyes").FILL)
    state.refresh_from_db()
    assert {step: set(people) for step, people in state.snapshot["people"].items()} == {"x": {"ada", "fay"}}
    assert {step: set(people) for step, people in kept.items()} == {"x": {"ada", "fay"}}
    task = Task.objects.open().get()
    with pytest.raises(WorkflowError) as refusal:
        complete_task(actor=cast.actor("ada"), task_id=task.pk)
    assert refusal.value.code == "four_eyes"
