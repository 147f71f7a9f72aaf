"""Operations: suspend, resume, retry, skip, dead letters; each with its refusals."""

import pytest

from engine.dispatch.drain import drain
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import Audit, DeadLetter, Instance, Signal
from engine.services.instances import repair as operations
from engine.services.instances.lifecycle import cancel_instance
from engine.services.tasks.lifecycle import complete_task
from engine.services.tenants.settings import put_secret
from tests.cast import Cast
from tests.flaky import counter
from tests.workflows import APPROVAL, RETRIED, TIMER, activated, fall_due, left_dead, only_task, started
from workflowplatform.accounts.actor import Actor

pytestmark = pytest.mark.usefixtures("replayed")

ONE_ATTEMPT = RETRIED.replace("attempts: 3", "attempts: 1")


@pytest.fixture
def broken(committed_cast: Cast) -> Instance:
    """Return an instance that became an incident at its call."""
    counter("flaky").unlink(missing_ok=True)
    activated(committed_cast.actor("gwen"), ONE_ATTEMPT)
    instance = started(committed_cast.actor("ada"), "retried")
    drain()
    instance.refresh_from_db()
    assert instance.status == "incident"
    return instance


@pytest.fixture
def asleep(committed_cast: Cast) -> Instance:
    """Return an instance whose timer is fell due."""
    activated(committed_cast.actor("gwen"), TIMER)
    return fall_due(started(committed_cast.actor("ada"), "timer"))


def test_a_suspended_instance_stands_still_until_resumed(committed_cast: Cast, asleep: Instance) -> None:
    ada = committed_cast.actor("ada")
    due = Signal.objects.get(instance=asleep).due_at
    assert operations.suspend_instance(actor=ada, instance_id=asleep.pk, reason="audit").status == "suspended"
    drain()
    asleep.refresh_from_db()
    assert asleep.status == "suspended"
    assert Signal.objects.get(instance=asleep).held_due_at == due
    assert operations.resume_instance(actor=ada, instance_id=asleep.pk).status == "running"
    assert Signal.objects.get(instance=asleep).due_at == due
    drain()
    asleep.refresh_from_db()
    assert asleep.status == "completed"


PARENT = """
workflow: parent
title: Parent
steps: [{id: child, workflow: {name: %s}}]
"""


@pytest.mark.parametrize("name", ["timer", "retried"])
def test_a_child_that_stands_still_ends_with_its_parent(committed_cast: Cast, name: str) -> None:
    ada = committed_cast.actor("ada")
    counter("flaky").unlink(missing_ok=True)
    for source in (TIMER.replace("PT0.2S", "PT1H"), ONE_ATTEMPT, PARENT % name):
        activated(committed_cast.actor("gwen"), source)
    parent = started(ada, "parent")
    drain()
    child = Instance.objects.get(parent=parent)
    if name == "timer":
        operations.suspend_instance(actor=ada, instance_id=child.pk)
    else:
        assert child.status == "incident"
    cancel_instance(actor=ada, instance_id=parent.pk, reason="no longer needed")
    drain()
    child.refresh_from_db()
    assert child.status == "cancelled"


def test_a_child_suspended_after_its_parent_ended_ends_all_the_same(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    for source in (TIMER.replace("PT0.2S", "PT1H"), PARENT % "timer"):
        activated(committed_cast.actor("gwen"), source)
    parent = started(ada, "parent")
    child = Instance.objects.get(parent=parent)
    cancel_instance(actor=ada, instance_id=parent.pk, reason="no longer needed")
    operations.suspend_instance(actor=ada, instance_id=child.pk)
    drain()
    child.refresh_from_db()
    assert child.status == "cancelled"


def test_a_task_of_a_suspended_instance_cannot_be_answered(gwen: Actor, ada: Actor, uri: Actor) -> None:
    activated(gwen, APPROVAL)
    task = only_task(started(uri, "approval", amount=2))
    operations.suspend_instance(actor=gwen, instance_id=task.instance_id)
    with pytest.raises(Conflict) as refusal:
        complete_task(actor=ada, task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert refusal.value.facts["status"] == "suspended"


def test_a_retry_goes_on_from_the_failed_step(committed_cast: Cast, broken: Instance) -> None:
    ada = committed_cast.actor("ada")
    for _ in range(2):
        operations.retry_step(actor=ada, instance_id=broken.pk, step="ask", reason="the bank is back")
        drain()
    retried = Audit.objects.filter(subject_id=broken.pk, action="retry_workflow")
    assert [(row.actor_name, row.cause) for row in retried] == [("ada", "the bank is back")] * 2
    broken.refresh_from_db()
    assert (broken.status, broken.state, broken.error) == ("completed", {"done": True}, None)
    attempts = broken.step_runs.filter(step="ask").values_list("attempt", "status")
    assert list(attempts) == [(1, "failed"), (2, "failed"), (3, "success")]


def test_a_skip_gives_the_step_its_output(committed_cast: Cast, broken: Instance) -> None:
    ada = committed_cast.actor("ada")
    with pytest.raises(Invalid):
        operations.skip_step(actor=ada, instance_id=broken.pk, reason="")
    skipped = operations.skip_step(actor=ada, instance_id=broken.pk, reason="done by phone", output={"by": "phone"})
    assert (skipped.status, skipped.state) == ("completed", {"done": True})
    told = Audit.objects.get(subject_id=broken.pk, action="skip_step")
    assert (told.actor_name, told.cause, told.new) == ("ada", "done by phone", {"output": {"by": "phone"}})


def test_wrong_status_is_named(committed_cast: Cast, asleep: Instance) -> None:
    ada = committed_cast.actor("ada")
    for act in (operations.retry_step, operations.resume_instance):
        with pytest.raises(Conflict) as refusal:
            act(actor=ada, instance_id=asleep.pk)
        assert refusal.value.facts["status"] == "running"


@pytest.mark.parametrize("act", [operations.suspend_instance, operations.resume_instance, operations.retry_step])
def test_strangers_and_low_levels_operate_nothing(committed_cast: Cast, asleep: Instance, act: object) -> None:
    assert callable(act)
    with pytest.raises(NotFound):
        act(actor=committed_cast.actor("sam"), instance_id=asleep.pk)
    with pytest.raises((NotFound, Refused)):
        act(actor=committed_cast.actor("uri"), instance_id=asleep.pk)


def test_a_replayed_dead_letter_sets_its_instance_going(committed_cast: Cast, asleep: Instance) -> None:
    letter = left_dead(asleep)
    with pytest.raises(NotFound):
        operations.replay_dead_letter(actor=committed_cast.actor("sam"), letter_id=letter.pk)
    operations.replay_dead_letter(actor=committed_cast.actor("ada"), letter_id=letter.pk)
    drain()
    asleep.refresh_from_db()
    assert asleep.status == "completed"
    assert not DeadLetter.objects.exists()
    assert Audit.objects.filter(subject_id=asleep.pk, action="replay_dead_letter", actor_name="ada").count() == 1


def test_a_discarded_dead_letter_leaves_its_receipt(committed_cast: Cast, asleep: Instance) -> None:
    letter = left_dead(asleep)
    instance = operations.discard_dead_letter(actor=committed_cast.actor("ada"), letter_id=letter.pk, reason="obsolete")
    assert instance.status == "incident"
    assert instance.receipts.get().disposition == "discarded"
    assert Audit.objects.filter(subject_id=instance.pk, action="discard_dead_letter", cause="obsolete").exists()


def test_incidents_with_one_cause_stand_together(committed_cast: Cast, broken: Instance) -> None:
    another = started(committed_cast.actor("ada"), "retried")
    counter("flaky").unlink()
    drain()
    groups = operations.incidents_by_cause(actor=committed_cast.actor("ada"))
    assert [(group.step, group.error_class, set(group.instances)) for group in groups] == [
        ("ask", "transport", {broken.pk, another.pk})
    ]
    assert operations.incidents_by_cause(actor=committed_cast.actor("sam")) == []


# Retrying with an edited input

ASKS = """
workflow: asks
title: Asks
steps:
  - id: ask
    call: {python: {function: test_picky, args: {word: wrong}}}
  - id: keep
    set: {heard: "${result.ask.word}"}
"""

OWN_INPUT = """
workflow: own-input
title: Own input
steps:
  - id: box
    input: {word: wrong}
    input_schema: {type: object, required: [word], properties: {word: {type: string}}}
    call: {python: {function: test_picky, args: {word: "${state.word}"}}}
"""

WITH_SECRET = """
workflow: with-secret
title: With a secret
steps:
  - id: ask
    call: {http: {method: POST, url: "http://127.0.0.1:1/", headers: {key: "${secret.key}"}}}
"""


def stuck(cast: Cast, source: str, name: str) -> Instance:
    """Return an instance whose first step has failed."""
    activated(cast.actor("gwen"), source)
    instance = started(cast.actor("ada"), name)
    drain()
    instance.refresh_from_db()
    assert instance.status == "incident"
    return instance


def test_a_call_is_retried_with_the_edited_request_under_a_key_of_its_own(committed_cast: Cast) -> None:
    instance, ada = stuck(committed_cast, ASKS, "asks"), committed_cast.actor("ada")
    edit = {"args": {"word": "right"}}
    operations.retry_step(actor=ada, instance_id=instance.pk, input=edit, reason="a typo")
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.state) == ("completed", {"heard": "right"})
    first, second = instance.effects.order_by("attempt")
    assert second.key == f"{first.key}~2"
    assert second.request == {"function": "test_picky", "args": {"word": "right"}}
    row = Audit.objects.get(subject_id=instance.pk, action="retry_workflow")
    assert (row.step, row.cause, row.new) == ("ask", "a typo", {"input": edit})


def test_a_steps_own_input_is_replaced_and_checked(committed_cast: Cast) -> None:
    instance, ada = stuck(committed_cast, OWN_INPUT, "own-input"), committed_cast.actor("ada")
    with pytest.raises(Invalid) as refused:
        operations.retry_step(actor=ada, instance_id=instance.pk, step="box", input={"word": 7})
    assert [error.path for error in refused.value.errors] == ["input.word"]
    operations.retry_step(actor=ada, instance_id=instance.pk, step="box", input={"word": "right"})
    drain()
    instance.refresh_from_db()
    assert instance.status == "completed"


def test_a_request_with_secrets_cannot_be_edited(committed_cast: Cast) -> None:
    put_secret(actor=committed_cast.actor("gwen"), name="key", value="a-long-value")
    instance = stuck(committed_cast, WITH_SECRET, "with-secret")
    with pytest.raises(Invalid) as refusal:
        operations.retry_step(
            actor=committed_cast.actor("ada"), instance_id=instance.pk, input={"url": "https://elsewhere.example/"}
        )
    assert [(error.path, error.code) for error in refusal.value.errors] == [("input", "secrets")]


def test_an_edit_of_a_step_that_takes_none_is_refused(committed_cast: Cast) -> None:
    source = 'workflow: sets\ntitle: Sets\nsteps:\n  - id: note\n    set: {x: "${start.missing}"}\n'
    instance = stuck(committed_cast, source, "sets")
    with pytest.raises(Invalid) as refusal:
        operations.retry_step(actor=committed_cast.actor("ada"), instance_id=instance.pk, input={"x": 1})
    assert [(error.path, error.code) for error in refusal.value.errors] == [("input", "no_input")]
