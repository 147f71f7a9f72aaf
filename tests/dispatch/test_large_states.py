"""An instance that grows without end becomes an incident before it takes a worker's memory."""

from typing import Any

import pytest

from engine.dispatch.drain import drain
from engine.models import Instance, RuntimeState
from engine.services.instances.repair import retry_step
from tests.cast import Cast
from tests.dispatch.runaways import GROWING, ITEMS
from tests.workflows import activated, started

LARGEST = 400_000

COLLECTING = """
workflow: collecting
title: Collecting
state: {text: "${start.text}"}
input: {type: object, properties: {text: {type: string}}}
steps:
  - id: round
    repeat:
      times: 100
      steps: [{id: row, decide: {inputs: {}, rows: [{when: {}, then: "${start.text}"}]}}]
"""
REPLACING = """
workflow: replacing
title: Replacing
input: {type: object, properties: {text: {type: string}}}
steps:
  - id: round
    repeat:
      times: 40
      steps: [{id: one, set: {text: "${start.text}"}}]
"""


@pytest.fixture(autouse=True)
def bounded(settings: Any) -> None:
    """Let states be small here, so that the test needs little memory where nothing bounds them."""
    settings.WORKFLOW_LARGEST_STATE = LARGEST
    settings.WORKFLOW_DISPATCHER = "immediate"


def ran(cast: Cast, template: str, **values: Any) -> Instance:
    """Start an instance, and let it run on in as many slices as it takes."""
    instance = started(cast.actor("ada"), template, **values)
    drain()
    instance.refresh_from_db()
    return instance


def size_of(instance: Instance) -> int:
    return len(str(RuntimeState.objects.get(pk=instance.pk).snapshot))


@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.django_db
def test_a_state_that_doubles_itself_is_an_incident(cast: Cast) -> None:
    activated(cast.actor("gwen"), GROWING.replace("1000000", "14"))
    instance = ran(cast, "growing")
    assert (instance.status, instance.error["class"], instance.error["code"], instance.error["step"]) == (
        "incident", "consistency", "state_too_large", "more",
    )  # fmt: skip
    assert "WORKFLOW_LARGEST_STATE" in instance.error["message"]
    assert size_of(instance) < LARGEST


@pytest.mark.django_db
def test_it_goes_on_where_more_is_allowed(cast: Cast, settings: Any) -> None:
    activated(cast.actor("gwen"), GROWING.replace("index >= 0", "index < 13"))
    instance = ran(cast, "growing")
    settings.WORKFLOW_LARGEST_STATE = 10 * LARGEST
    retry_step(actor=cast.actor("ada"), instance_id=instance.pk)
    drain()
    instance.refresh_from_db()
    assert instance.status == "completed"


@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.django_db
def test_results_that_pile_up_are_an_incident(cast: Cast) -> None:
    activated(cast.actor("gwen"), COLLECTING)
    instance = ran(cast, "collecting", text="x" * 10_000)
    assert (instance.status, instance.error["code"]) == ("incident", "state_too_large")
    assert size_of(instance) < LARGEST


@pytest.mark.django_db
def test_what_is_replaced_again_and_again_does_not_add_up(cast: Cast) -> None:
    activated(cast.actor("gwen"), REPLACING)
    instance = ran(cast, "replacing", text="x" * 20_000)
    assert (instance.status, len(instance.state["text"])) == ("completed", 20_000)


@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.django_db
def test_more_items_than_one_step_may_have_are_an_incident(cast: Cast) -> None:
    activated(cast.actor("gwen"), ITEMS)
    instance = ran(cast, "items", items=list(range(20_000)))
    assert (instance.status, instance.error["class"], instance.error["step"]) == ("incident", "expression", "all")
