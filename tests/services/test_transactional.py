"""Functions that run inside the transaction of their step: kept together or not at all, alone, offline."""

import socket

import pytest
from django.db import transaction
from django.test import Client

from engine.dispatch.drain import drain
from engine.errors import Invalid
from engine.extensions.functions import is_transactional
from engine.models import Effect, Instance, Signal, StepRun, TaskEvent
from engine.runtime.network_guard import NetworkRefused, offline
from engine.services.instances.repair import retry_step, suspend_instance
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import Role

pytestmark = pytest.mark.usefixtures("replayed")

BOOK = """
workflow: book
title: Book
input: {type: object, properties: {name: {type: string}, refuse: {type: boolean, default: false},
        reach: {type: boolean, default: false}, then: {type: string, default: ''}}}
steps:
  - id: book
    call: {python: {function: test_write, args: {name: "${start.name}", refuse: "${start.refuse}",
           reach: "${start.reach}", then: "${start.then}"}}}
  - id: keep
    set: {role: "${result.book.role}", alone: "${result.book.alone}"}
"""

ASKED = """
workflow: asked
title: Asked
input: {type: object, properties: {refuse: {type: boolean, default: true}}}
steps:
  - id: ask
    task: {title: Order it?}
  - id: book
    call: {python: {function: test_write, args: {name: booked, refuse: "${start.refuse}"}}}
"""

CAUGHT = (
    ASKED.replace("workflow: asked", "workflow: caught")
    + "    on_error: [{steps: [{id: wrote, set: {sorry: true}}]}]\n"
)

AFTER_TIMER = """
workflow: after-timer
title: After a timer
input: {type: object, properties: {name: {type: string}}}
steps:
  - id: pause
    wait: {for: PT0.01S}
  - id: book
    call: {python: {function: test_write, args: {name: "${start.name}"}}}
"""


def roles() -> set[str]:
    """Return the host's rows that functions wrote."""
    return set(Role.objects.filter(name__startswith="booked").values_list("name", flat=True))


def test_only_functions_registered_so_are_transactional() -> None:
    assert is_transactional("python", {"function": "test_write"})
    assert not is_transactional("python", {"function": "echo"})
    assert not is_transactional("http", {"function": "test_write"})


def test_a_start_runs_through_it_in_one_transaction(cast: Cast) -> None:
    activated(cast.actor("gwen"), BOOK)
    instance = started(cast.actor("ada"), "book", name="booked")
    assert (instance.status, instance.state) == ("completed", {"role": "booked", "alone": True})
    assert roles() == {"booked"}
    assert not Effect.objects.filter(instance=instance).exists()
    run = StepRun.objects.get(instance=instance, step="book")
    assert (run.status, run.input["args"]["name"]) == ("success", "booked")


def test_what_it_wrote_goes_with_the_slice(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), BOOK)
    with transaction.atomic():
        assert started(committed_cast.actor("ada"), "book", name="booked").status == "completed"
        transaction.set_rollback(True)
    assert not Instance.objects.exists()
    assert roles() == set()


@pytest.mark.parametrize(
    ("values", "status", "error"),
    [
        ({"refuse": True}, "failed", ("business", "no_stock")),
        ({"reach": True}, "incident", ("definition", "network_refused")),
        ({"then": "oops"}, "incident", ("transport", "exception")),
    ],
)
def test_a_failing_one_leaves_nothing_of_what_it_wrote(
    cast: Cast, values: dict[str, object], status: str, error: tuple[str, str]
) -> None:
    activated(cast.actor("gwen"), BOOK)
    instance = started(cast.actor("ada"), "book", name="booked", **values)
    assert instance.status == status
    assert instance.error is not None
    assert (instance.error["class"], instance.error["code"]) == error
    assert roles() == set()


def test_its_uncaught_refusal_refuses_the_answer(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), ASKED)
    ada = committed_cast.actor("ada")
    task = only_task(started(ada, "asked"))
    with pytest.raises(Invalid, match="nothing left in stock") as refused:
        complete_task(actor=ada, task_id=task.pk)
    assert [(error.code, error.path) for error in refused.value.errors] == [("no_stock", "")]
    task.refresh_from_db()
    assert (task.status, task.assignee_id, task.instance.status) == ("open", None, "running")
    assert list(TaskEvent.objects.filter(task=task).values_list("kind", flat=True)) == ["created"]
    assert roles() == set()


def test_the_person_reads_why_the_answer_was_refused(cast: Cast, client: Client) -> None:
    activated(cast.actor("gwen"), ASKED)
    task = only_task(started(cast.actor("ada"), "asked"))
    client.force_login(cast.ada)
    answer = client.post(f"/inbox/tasks/{task.pk}/complete/", {"outcome": "done"})
    assert answer.status_code == 400
    assert "There is nothing left in stock." in answer.content.decode()


def test_a_refusal_that_is_caught_is_the_authors_affair(cast: Cast) -> None:
    activated(cast.actor("gwen"), CAUGHT)
    ada = cast.actor("ada")
    task = only_task(started(ada, "caught"))
    answered = complete_task(actor=ada, task_id=task.pk)
    assert (answered.instance.status, answered.instance.state) == ("completed", {"sorry": True})


def test_a_fail_step_behind_an_answer_still_fails_the_case(cast: Cast) -> None:
    activated(
        cast.actor("gwen"),
        ASKED + "  - id: stop\n    fail: {code: no_stock, message: There is nothing left in stock.}\n",
    )
    ada = cast.actor("ada")
    task = only_task(started(ada, "asked", refuse=False))
    assert complete_task(actor=ada, task_id=task.pk).instance.status == "failed"
    assert roles() == {"booked"}


def test_in_a_batch_it_waits_and_is_then_run_alone(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), AFTER_TIMER)
    ada = committed_cast.actor("ada")
    instances = [started(ada, "after-timer", name=f"booked-{number}") for number in range(3)]
    past = {"due_at": instances[0].started_at}
    Signal.objects.update(**past)
    drain()
    assert {Instance.objects.get(pk=one.pk).status for one in instances} == {"completed"}
    assert roles() == {"booked-0", "booked-1", "booked-2"}
    assert set(Effect.objects.values_list("status", "made")) == {("succeeded", 1)}


def test_one_that_the_database_refuses_spoils_none_of_its_neighbours(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), AFTER_TIMER)
    ada = committed_cast.actor("ada")
    instances = [started(ada, "after-timer", name=name) for name in ("booked-0", "booked-0", "booked-1")]
    Signal.objects.update(due_at=instances[0].started_at)
    drain()
    found = sorted(Instance.objects.get(pk=one.pk).status for one in instances)
    assert found == ["completed", "completed", "incident"]
    assert roles() == {"booked-0", "booked-1"}


def test_a_statement_that_takes_too_long_fails_the_step_and_not_the_worker(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), BOOK)
    instance = started(committed_cast.actor("ada"), "book", name="booked", then="sleep")
    assert (instance.status, (instance.error or {})["code"]) == ("incident", "exception")
    assert roles() == set()


def test_an_incident_is_retried_inside_the_operators_transaction(cast: Cast) -> None:
    activated(cast.actor("gwen"), BOOK)
    ada = cast.actor("ada")
    taken = Role.objects.create(tenant=cast.acme, name="booked")
    instance = started(ada, "book", name="booked")
    assert instance.status == "incident"
    taken.delete()
    assert retry_step(actor=ada, instance_id=instance.pk).status == "completed"


def test_a_suspended_instance_does_not_run_its_waiting_function(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), AFTER_TIMER)
    ada = committed_cast.actor("ada")
    instances = [started(ada, "after-timer", name=f"booked-{number}") for number in range(2)]
    suspend_instance(actor=ada, instance_id=instances[0].pk)
    Signal.objects.filter(held_due_at__isnull=True).update(due_at=instances[0].started_at)
    drain()
    assert roles() == {"booked-1"}


def test_offline_refuses_this_thread_the_network_and_only_meanwhile() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with offline(), pytest.raises(NetworkRefused):
            socket.create_connection(address, timeout=5)
        with offline(), pytest.raises(NetworkRefused):
            socket.getaddrinfo("localhost", 80)
        socket.create_connection(address, timeout=60).close()
