"""A reference in use once at a time: the second start is refused, whoever makes it, until the first case is over."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import Conflict
from engine.models import HeldReference, Instance
from engine.services.events import accept_event
from engine.services.instances import cancel_instance, start_instance
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import activated
from workflowplatform.accounts.actor import Actor

ORDER = """
workflow: order
title: Order
starters: {min_level: 2}
trigger: event
event: {name: ordered}
input: {type: object, properties: {number: {type: string}}}
reference: {key: "${start.number}", unique: true}
steps:
  - id: pack
    task: {title: Pack}
"""


def order(actor: Actor, number: str, **more: Any) -> Instance:
    return start_instance(actor=actor, template="order", input={"number": number}, **more).instance


@pytest.fixture
def orders(gwen: Actor) -> Actor:
    activated(gwen, ORDER)
    return gwen


def test_second_start_is_refused_naming_the_first(orders: Actor) -> None:
    first = order(orders, "A-1")
    for again in ({}, {"reference": "A-1"}):
        with pytest.raises(Conflict) as refusal:
            order(orders, "A-1", **again)
        assert (refusal.value.code, refusal.value.facts) == ("reference", {"instance": str(first.pk)})
    assert order(orders, "A-2").reference == "A-2"
    assert order(orders, "A-1", reference="A-3").reference == "A-3"
    assert Instance.objects.count() == 3


def test_reference_is_free_again_when_its_case_is_over_or_goes_by_another(orders: Actor) -> None:
    first = order(orders, "A-1")
    cancel_instance(actor=orders, instance_id=first.pk, reason="again")
    second = order(orders, "A-1")
    Instance.objects.filter(pk=second.pk).update(reference="A-9")
    third = order(orders, "A-1")
    assert HeldReference.objects.get().instance_id == third.pk


def test_event_under_a_reference_in_use_starts_nothing_and_says_so(orders: Actor) -> None:
    first = accept_event(actor=orders, name="ordered", external_id="e-1", payload={"number": "A-1"})
    again = accept_event(actor=orders, name="ordered", external_id="e-2", payload={"number": "A-1"})
    assert (len(first.started), again.started) == (1, ())
    assert Instance.objects.count() == 1


def test_other_templates_and_tenants_keep_references_of_their_own(orders: Actor, sam: Actor) -> None:
    activated(sam, ORDER)
    activated(orders, ORDER.replace("workflow: order", "workflow: other"))
    order(orders, "A-1")
    assert order(sam, "A-1").reference == "A-1"
    assert start_instance(actor=orders, template="other", input={"number": "A-1"}).instance.reference == "A-1"


def test_of_starts_at_the_same_moment_one_has_the_reference(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, ORDER)
    results = at_once([lambda: order(gwen, "A-1")] * 6)
    won = [one for one in results if isinstance(one, Instance)]
    assert (len(won), Instance.objects.count()) == (1, 1)
    assert {one.facts["instance"] for one in results if isinstance(one, Conflict)} == {str(won[0].pk)}
