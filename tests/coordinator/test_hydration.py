"""Objects made of columns at hand equal those that Django reads, in every concrete field that they have."""

from collections.abc import Iterator

import pytest
from django.db import models, transaction

from engine.models import Instance, Task, Template, TemplateVersion, Wait
from engine.runtime.claims import hold_task, token_with, version_to_start
from engine.services.instances.lifecycle import start_instance
from engine.services.people.tokens import create_token
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import TWO_TASKS, activated
from workflowplatform.accounts.models import Tenant, Token, User

pytestmark = pytest.mark.django_db
INPUT = "input: {type: object, properties: {word: {type: string}}}\nsteps:"
WHOLE: set[type[models.Model]] = {Instance, Task, Wait, Token, User}
"""Models of which some statement or slice makes objects with all fields, or all but those that it defers on purpose."""
DEFERRED: dict[type[models.Model], set[str]] = {Instance: {"state", "output", "error"}}


def made(cast: Cast) -> Iterator[models.Model]:
    """Make objects in every way there is: by a token, a start, a task that is held, and a task that is completed."""
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), TWO_TASKS.replace("steps:", INPUT))
    found = token_with(create_token(actor=ada, person=cast.ada, name="mine")[0].digest)
    assert found
    yield from (found[0], found[0].user)
    startable = version_to_start(ada, "two").version
    yield from (startable, startable.template, startable.tenant)
    started = start_instance(actor=ada, template="two", input={"word": "ä"})
    yield from (started.instance, *started.instance.waits.all(), *started.tasks)
    with transaction.atomic():
        held = hold_task(ada, started.tasks[0].pk)
        yield from (held.person, held.task, held.task.instance, held.task.version, held.task.version.template)
    completed = complete_task(actor=ada, task_id=held.task.pk)
    yield from (completed.task, completed.instance, *completed.instance.waits.all(), *completed.next_tasks)


def test_objects_equal_what_django_reads(cast: Cast) -> None:
    seen: dict[type[models.Model], set[str]] = {}
    for one in made(cast):
        model = type(one)
        fields = {field.attname for field in model._meta.concrete_fields} - one.get_deferred_fields()
        read = model._default_manager.get(pk=one.pk)
        assert {name: getattr(one, name) for name in fields} == {name: getattr(read, name) for name in fields}, model
        kinds = {name: (type(getattr(one, name)), type(getattr(read, name))) for name in fields}
        assert [name for name, (mine, its) in kinds.items() if not issubclass(mine, its)] == [], model
        assert (one._state.adding, one._state.db) == (read._state.adding, read._state.db)
        seen.setdefault(model, set()).update(fields)
    assert seen.keys() == WHOLE | {Template, TemplateVersion, Tenant}
    for model in WHOLE:
        every = {field.attname for field in model._meta.concrete_fields}
        assert every - seen[model] <= DEFERRED.get(model, set()), model
