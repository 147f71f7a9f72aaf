"""Where a claim picks: the other offers are withdrawn, a release brings them back."""

from engine.models import Instance, Task
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor

ANY_ORDER = """
workflow: rounds
title: Rounds
steps:
  - id: visits
    any_order:
      steps:
        - id: kitchen
          task: {title: Kitchen}
        - id: garden
          task: {title: Garden}
"""


def offered(instance: Instance) -> list[str]:
    return sorted(Task.objects.open().filter(instance=instance).values_list("title", flat=True))


def task_named(instance: Instance, title: str) -> Task:
    return Task.objects.open().get(instance=instance, title=title)


def test_a_claim_withdraws_the_other_offers_and_a_release_brings_them_back(gwen: Actor, ada: Actor) -> None:
    activated(gwen, ANY_ORDER)
    instance = started(gwen, "rounds")
    assert offered(instance) == ["Garden", "Kitchen"]
    claimed = claim_task(actor=ada, task_id=task_named(instance, "Garden").pk)
    assert offered(instance) == ["Garden"]
    release_task(actor=ada, task_id=claimed.pk)
    assert offered(instance) == ["Garden", "Kitchen"]


def test_completing_without_a_claim_is_both_in_one(gwen: Actor, ada: Actor) -> None:
    activated(gwen, ANY_ORDER)
    instance = started(gwen, "rounds")
    done = complete_task(actor=ada, task_id=task_named(instance, "Garden").pk)
    assert (done.instance.status, offered(instance)) == ("running", ["Kitchen"])
    done = complete_task(actor=ada, task_id=task_named(instance, "Kitchen").pk)
    assert done.instance.status == "completed"
