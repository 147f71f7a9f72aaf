"""Events that start a case, and steps that are slowed down."""

from datetime import timedelta

import pytest

from engine.kernel.errors import StepError
from engine.kernel.interpreter import advance
from engine.kernel.signals import InstanceFacts, Lent, Started, TimerDue
from engine.kernel.triggers import event_start
from tests.kernel.play import MONDAY, compiled

EVENT = """
trigger: event
event: {name: paid, when: start.amount > 10, key: "${start.id}", reference: "${'P-' + start.id}"}
steps: [{id: t, task: {title: T}}]
"""


def test_event_starts_what_it_names_when_its_condition_holds() -> None:
    definition = compiled(EVENT)
    found = event_start(definition, "paid", {"amount": 11, "id": "7"}, MONDAY)
    assert found is not None
    assert (found.input, found.reference, found.key) == ({"amount": 11, "id": "7"}, "P-7", "7")
    assert event_start(definition, "paid", {"amount": 1, "id": "7"}, MONDAY) is None
    assert event_start(definition, "other", {"amount": 11, "id": "7"}, MONDAY) is None
    with pytest.raises(StepError):
        event_start(definition, "paid", {}, MONDAY)


def test_rated_step_comes_again_later_and_never_blocks() -> None:
    definition = compiled("steps: [{id: c, call: {python: f}, rate_limit: {key: bank, limit: 1, per: PT1M}}]")
    asked = []

    def admit(key: str, limit: int, seconds: float):  # type: ignore[no-untyped-def]
        asked.append((key, limit, seconds))
        return MONDAY + timedelta(seconds=30) if len(asked) == 1 else None

    facts = InstanceFacts("i", "tried", 1, None, MONDAY)
    first = advance(definition, None, facts, [Started({})], Lent(MONDAY, admit=admit))
    (wait,) = first.opened
    assert (wait.kind.value, wait.due_at) == ("timer", MONDAY + timedelta(seconds=30))
    second = advance(definition, first.snapshot, facts, [TimerDue(wait.token)], Lent(MONDAY, admit=admit))
    assert [one.kind.value for one in second.opened] == ["call"]
    assert asked == [("bank", 1, 60.0)] * 2
